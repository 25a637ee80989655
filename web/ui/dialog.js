// The one dialog: asks before something is done that cannot be undone, and for what it needs.
import { el } from './dom.js';
import { exactDuration, parseDuration } from './format.js';

const by = (id) => document.getElementById(id);

/**
 * Resolves with the values of the fields by name, or null when nothing shall be done. `go` and
 * `keep` are the words of the two buttons. A field: {name, label, type, ...}, the rest being
 * attributes of its input; `options`, texts or {value, text}, make it a select, `rows` a text area;
 * check(value) answers what is wrong with it.
 */
export function askUser({ title, text = '', go, keep = 'Cancel', danger = false, fields = [] }) {
	const dialog = by('dialog');
	if (dialog.open) return Promise.resolve(null);
	by('dialog-title').textContent = title;
	by('dialog-text').textContent = text;
	by('dialog-text').hidden = text === '';
	by('dialog-go').textContent = go;
	by('dialog-go').className = danger ? 'danger' : 'primary';
	by('dialog-cancel').textContent = keep;
	by('dialog-fields').replaceChildren(...fields.map(field));
	return new Promise((resolve) => {
		by('dialog-cancel').onclick = () => dialog.close('');
		by('dialog-form').onsubmit = () => {
			dialog.returnValue = 'go';
		};
		dialog.returnValue = '';
		dialog.onclose = () => {
			if (dialog.open) return; // the event of the time before, which the browser sends late
			resolve(
				dialog.returnValue === 'go'
					? Object.fromEntries(new FormData(by('dialog-form')))
					: null,
			);
		};
		by('dialog-go').value = 'go';
		dialog.showModal();
		const first = by('dialog-fields').querySelector('input, select, textarea');
		(first ?? by('dialog-cancel')).focus();
	});
}

/** Before something is removed for good; true when it shall be. */
export async function confirmRemoval({ title, go, text }) {
	return (await askUser({ title, go, text, keep: 'Keep', danger: true })) !== null;
}

/** A label with its input, select or text area. */
export function field({ label, options, value, check, ...attributes }) {
	const choices = options?.map((one) => el('option', { value: one.value ?? one }, one.text ?? one));
	const input = choices
		? el('select', attributes, ...choices)
		: el(attributes.rows ? 'textarea' : 'input', attributes);
	if (value !== undefined && value !== null) input.value = value;
	if (check) {
		const judge = () => input.setCustomValidity(check(input.value) ?? '');
		input.addEventListener('input', judge);
		judge();
	}
	return el('label', { class: 'field' }, el('span', {}, label), input);
}

/**
 * A field for a duration as people write it. `ms` is what it begins with, `min` and `max` bound it;
 * it may stay empty unless it is `required`. parseDuration reads what was written.
 */
export function durationField({ ms = null, min = 0, max = Infinity, required = true, ...rest }) {
	return {
		placeholder: 'such as 1 h 30 min',
		...rest,
		autocomplete: 'off',
		spellcheck: 'false',
		required,
		value: ms === null ? '' : exactDuration(ms, ' '),
		check(text) {
			if (text.trim() === '') return null; // `required` judges that
			const wanted = parseDuration(text);
			if (wanted === null) return 'Write a number with a unit, such as 14 d, 1 h 30 min or 500 ms.';
			if (wanted < min) return `It is ${exactDuration(min)} at least.`;
			return wanted > max ? `It is ${exactDuration(max)} at most.` : null;
		},
	};
}

/** Asks for a token; `isUnknown` if the daemon has refused one. */
export async function askForToken(isUnknown) {
	const why = isUnknown ? 'The daemon does not know this token. ' : '';
	const said = await askUser({
		title: 'A token is needed',
		text: `${why}This daemon answers clients that have one. The token is kept until this tab is closed.`,
		go: 'Use it',
		fields: [{ name: 'token', label: 'Token', type: 'password', required: '', autocomplete: 'off' }],
	});
	return said?.token.trim() ?? '';
}
