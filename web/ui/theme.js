// Light or dark: what the reader chose, else what the system has. Runs before the page is painted.
(() => {
	const KEY = 'patternd-theme';
	const system = matchMedia('(prefers-color-scheme: dark)');
	const chosen = () => localStorage.getItem(KEY) ?? 'auto';

	function apply() {
		const theme = chosen();
		document.documentElement.dataset.theme = theme === 'auto' ? (system.matches ? 'dark' : 'light') : theme;
	}

	system.addEventListener('change', apply);
	apply();
	window.theme = {
		chosen,
		choose(theme) {
			if (theme === 'auto') localStorage.removeItem(KEY);
			else localStorage.setItem(KEY, theme);
			apply();
		},
	};
})();
