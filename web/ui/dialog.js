// The one dialog: asks before something is done that cannot be undone, and for what it needs.
import { el } from './dom.js';

const by = (id) => document.getElementById(id);

/**
 * Resolves with the values of the fields by name, or null when nothing shall be done. A field:
 * {name, label, type, ...}, the rest being attributes of its input; `options` make it a select.
 */
export function askUser({ title, text = '', go, danger = false, fields = [] }) {
	const dialog = by('dialog');
	if (dialog.open) return Promise.resolve(null);
	by('dialog-title').textContent = title;
	by('dialog-text').textContent = text;
	by('dialog-go').textContent = go;
	by('dialog-go').className = danger ? 'danger' : 'primary';
	by('dialog-fields').replaceChildren(...fields.map(field));
	return new Promise((resolve) => {
		by('dialog-cancel').onclick = () => dialog.close('');
		by('dialog-form').onsubmit = () => {
			dialog.returnValue = 'go';
		};
		dialog.returnValue = '';
		dialog.onclose = () =>
			resolve(
				dialog.returnValue === 'go'
					? Object.fromEntries(new FormData(by('dialog-form')))
					: null,
			);
		by('dialog-go').value = 'go';
		dialog.showModal();
		(fields.length ? by('dialog-fields').querySelector('input, select') : by('dialog-cancel')).focus();
	});
}

/** A label with its input or select. */
export function field({ label, options, value, ...attributes }) {
	const input = options
		? el('select', attributes, ...options.map((text) => el('option', { value: text }, text)))
		: el('input', attributes);
	if (value !== undefined) input.value = value;
	return el('label', { class: 'field' }, el('span', {}, label), input);
}

export async function askForToken() {
	const said = await askUser({
		title: 'A token is needed',
		text: 'This daemon answers those who have one. It is kept until this tab is closed.',
		go: 'Use it',
		fields: [{ name: 'token', label: 'Token', type: 'password', required: '', autocomplete: 'off' }],
	});
	return said?.token.trim() ?? '';
}
