// A button at each block of code. Of a `console` block it copies the commands, without "$ " and
// without the answers.

/** Whether a quotation, a here-document or a line with a backslash at its end continues. */
function isOpen(command) {
  const [, word] = /<<'?(\w+)/.exec(command) ?? [];
  const rest = command.replace(/'[^']*'|"[^"]*"/g, '');
  return word ? !command.endsWith(`\n${word}`) : /['"]|\\$/.test(rest);
}

function commands(text) {
  const found = [];
  let isWhole = true;
  for (const line of text.split('\n')) {
    if (line.startsWith('$ ')) found.push(line.slice(2));
    else if (!isWhole) found[found.length - 1] += `\n${line}`;
    else continue;
    isWhole = !isOpen(found[found.length - 1]);
  }
  return found.join('\n');
}

function addButton(code) {
  const button = document.createElement('button');
  const box = document.createElement('div');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = code.textContent;
    await navigator.clipboard.writeText(code.className === 'language-console' ? commands(text) : text);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  box.className = 'block';
  code.parentElement.replaceWith(box);
  box.append(code.parentElement, button);
}

// A page that is served over HTTP by another machine has no clipboard.
if (navigator.clipboard) document.querySelectorAll('pre > code').forEach(addButton);
