// The request that makes something, as a command to copy: what an empty view shows.
import { hasToken } from './api.js';
import { breakable, el, setText, whole } from './dom.js';

const SAFE = /^[A-Za-z0-9_\/:.,=@%+-]+$/;

/** A word of a shell. */
export function quote(text) {
	return SAFE.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The curl command of a request to this daemon. */
export function command(method, path, body) {
	const url = new URL(`.${path}`, location.href).href;
	const token = hasToken() ? ` -H 'Authorization: Bearer TOKEN'` : '';
	const usual = body === undefined ? 'GET' : 'POST';
	const how = method === usual ? '' : ` -X ${method}`;
	const sent = body === undefined ? '' : ` --json ${quote(JSON.stringify(body))}`;
	return `curl${how}${token} ${quote(url)}${sent}`;
}

/** A command as nodes, in which no line ends within an option. */
export function words(command) {
	return command
		.split(/(?<= )(?=-)|(?<= -\S+)(?= )/)
		.flatMap((part) => (part.startsWith('-') ? [whole(part)] : breakable(part)));
}

/** Such a command, with a button that copies it. */
export function sample(method, path, body) {
	const text = command(method, path, body);
	const button = el('button', { type: 'button', class: 'quiet' }, 'Copy');
	button.onclick = async () => {
		try {
			await navigator.clipboard.writeText(text);
			setText(button, 'Copied');
		} catch {
			setText(button, 'Select it to copy');
		}
	};
	return el('div', { class: 'sample' }, el('pre', {}, el('code', {}, ...words(text))), button);
}
