// The one dialog: asks before something is done that cannot be undone, and for what it needs.
import { el } from './dom.js';
import { exactDuration, parseDuration } from './format.js';

const by = (id) => document.getElementById(id);

/**
 * Resolves with the values of the fields by name, or null when nothing shall be done. `go` and
 * `keep` are the words of the two buttons. A field: {name, label, type, ...}, the rest being
 * attributes of its input; `options`, texts or {value, text}, make it a select, `rows` a text area;
 * check(value) answers what is wrong with it.
 *
 * With send(values, explain) the dialog stays until explain(null) is called, or the user has
 * cancelled. explain(error) shows an error at the fields that have its pointers for names; it
 * returns false if the dialog is closed.
 */
export function askUser({ title, text = '', go, keep = 'Cancel', danger = false, fields = [], send }) {
	const dialog = by('dialog');
	if (dialog.open) return Promise.resolve(null);
	by('dialog-title').textContent = title;
	by('dialog-text').textContent = text;
	by('dialog-text').hidden = text === '';
	by('dialog-go').textContent = go;
	by('dialog-go').className = danger ? 'danger' : 'primary';
	by('dialog-cancel').textContent = keep;
	by('dialog-fields').replaceChildren(...fields.map(field));
	by('dialog-problem').hidden = true;
	const values = () => Object.fromEntries(new FormData(by('dialog-form')));
	return new Promise((resolve) => {
		by('dialog-cancel').onclick = () => dialog.close('');
		let isOver = false;
		by('dialog-form').onsubmit = async (event) => {
			dialog.returnValue = 'go';
			if (!send) return;
			event.preventDefault();
			by('dialog-go').disabled = true;
			await send(values(), (error) => {
				if (isOver) return false;
				if (error) explain(error);
				else dialog.close('go');
				return true;
			});
			if (!isOver) by('dialog-go').disabled = false;
		};
		by('dialog-go').disabled = false;
		dialog.returnValue = '';
		dialog.onclose = () => {
			if (dialog.open) return; // the event of the time before, which the browser sends late
			isOver = true;
			resolve(dialog.returnValue === 'go' ? values() : null);
		};
		by('dialog-go').value = 'go';
		dialog.showModal();
		const first = by('dialog-fields').querySelector('input, select, textarea');
		(first ?? by('dialog-cancel')).focus();
	});
}

/** Shows what is wrong at the fields that the error points to, and the rest of it above them. */
function explain({ message, said }) {
	const inputs = [...by('dialog-fields').querySelectorAll('input, select, textarea')];
	for (const input of inputs) input.removeAttribute('aria-describedby');
	for (const old of by('dialog-fields').querySelectorAll('.wrong')) old.remove();
	const others = [];
	const found = (said?.errors ?? [{ detail: message }]).map(({ pointer, detail }) => {
		const input = inputs.find(({ name }) => name === pointer || name.startsWith(`${pointer}/`));
		if (!input) {
			others.push(pointer ? `${pointer} ${detail}` : detail);
			return null;
		}
		// It describes the input, and is not a part of its label.
		const wrong = el('small', { class: 'wrong', id: `wrong${input.name}`, 'aria-hidden': 'true' }, detail);
		input.setAttribute('aria-describedby', wrong.id);
		input.parentNode.append(wrong);
		return input;
	});
	by('dialog-problem').hidden = others.length === 0;
	by('dialog-problem').textContent = others.join('; ');
	by('dialog-problem').scrollIntoView({ block: 'nearest' });
	found.find((input) => input)?.focus();
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
