// Durations as people write them: what /ui shows, what it accepts, and that neither way loses
// digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clock, clockOrInstant, duration, exactDuration, parseDuration, plural, utc } from '../../web/ui/format.js';

const plain = (text) => text.replaceAll('\u00a0', ' ');

test('a duration is shown in its two largest units, and no line ends within it', () => {
  for (const [ms, text] of [
    [-5, '0 ms'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [91_000, '1 min 31 s'],
    [3_600_000, '1 h'],
    [3_605_000, '1 h'],
    [5_400_000, '1 h 30 min'],
    [1_209_600_000, '14 d'],
    [90_061_000, '1 d 1 h'],
  ]) {
    assert.equal(plain(duration(ms)), text);
    assert.doesNotMatch(duration(ms), / /);
  }
});

test('a duration that is set is shown and edited as a whole', () => {
  for (const [ms, text] of [
    [0, '0 s'],
    [1, '1 ms'],
    [1500, '1 s 500 ms'],
    [5_400_000, '1 h 30 min'],
    [1_209_600_000, '14 d'],
    [90_061_001, '1 d 1 h 1 min 1 s 1 ms'],
  ]) {
    assert.equal(exactDuration(ms, ' '), text);
    assert.equal(exactDuration(ms), text.replaceAll(' ', '\u00a0'));
  }
  for (let ms = 1; ms < 1e13; ms = ms * 7 + 3) assert.equal(parseDuration(exactDuration(ms)), ms);
});

test('a time of another day has its day', () => {
  const today = Date.now();
  const yesterday = today - 86_400_000;
  assert.equal(clockOrInstant(today), clock(today));
  assert.match(clockOrInstant(yesterday), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d /);
});

test('what people write is understood, and nothing is guessed', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['0 s', 0],
    ['14 d', 1_209_600_000],
    ['14d', 1_209_600_000],
    ['2 weeks', 1_209_600_000],
    ['1 h 30 min', 5_400_000],
    ['1h30m', 5_400_000],
    ['1.5 hours', 5_400_000],
    ['1 H, 30 Min', 5_400_000],
    ['1\u00a0min\u00a031\u00a0s', 91_000],
    [' 500 ms ', 500],
  ])
    assert.equal(parseDuration(text), ms, text);
  for (const text of ['', ' ', '5', '5 5 s', 's', '-1 s', '1 fortnight', '1 h 30', 'NaN s', '1e3 s', '99999999999999 d', '.5 h'])
    assert.equal(parseDuration(text), null, text);
});

test('counts have their noun, instants their zone', () => {
  assert.equal(plural(1, 'message'), '1 message');
  assert.equal(plural(0, 'message'), '0 messages');
  assert.equal(plural(1234, 'entry', 'entries'), '1,234 entries');
  assert.equal(utc(Date.UTC(2027, 2, 27, 17, 30, 5, 9)), '2027-03-27 17:30:05 UTC');
});
