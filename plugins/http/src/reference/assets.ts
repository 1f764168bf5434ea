export const referenceCss = `
:root {
  color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif;
  --text: light-dark(#1b1f24, #e4e7eb); --page: light-dark(#fff, #15181c); --soft: light-dark(#f1f3f5, #22272d);
  --line: light-dark(#878f98, #77808a); --quiet: light-dark(#4c555f, #b4bcc5); --link: light-dark(#0b57a4, #8ec2ff);
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--text); background: var(--page); overflow-wrap: anywhere; }
header, main { max-width: 64rem; margin: 0 auto; padding: .75rem 1rem; }
header { display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid var(--line); }
nav a { margin-left: .75rem; }
nav a[aria-current] { font-weight: 700; text-decoration: none; }
a { color: var(--link); }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 1.5rem 0 0; } h3 { font-size: 1rem; }
h2.head { font-size: 1rem; font-weight: 400; }
section > p, small, .type, dd { color: var(--quiet); }
.type a { color: var(--link); }
details { border-top: 1px solid var(--soft); }
summary { padding: .5rem .25rem; cursor: pointer; }
summary:hover { background: var(--soft); }
details[open] > :not(summary) { margin-left: .75rem; }
.method { display: inline-block; min-width: 4.5em; font-weight: 700; font-size: .85rem; }
code, pre, textarea { font-family: ui-monospace, monospace; font-size: .875rem; }
pre { background: var(--soft); padding: .75rem; white-space: pre-wrap; border-radius: .25rem; }
.fields { padding-left: 1rem; } .fields li { margin: .25rem 0; }
label { display: block; font-weight: 600; margin-top: .5rem; }
input, textarea { width: 100%; padding: .5rem; font-size: 1rem; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: .25rem; }
small, [role=status] { display: block; margin-top: .25rem; }
button { margin: .75rem 0; padding: .5rem 1rem; font: inherit; color: var(--page); background: var(--link); border: 0; border-radius: .25rem; cursor: pointer; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
[hidden] { display: none !important; }
`

/**
 * Browser script of the reference: search, loading of details, test calls. Without it, each operation still has a page.
 */
export const referenceScript = `
const root = new URL('.', document.querySelector('script[src]').src)
const failed = document.body.dataset.failed

const search = document.querySelector('#search')
search?.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/)
  let shown = 0
  for (const section of document.querySelectorAll('section')) {
    const rows = [...section.querySelectorAll(':scope > details')]
    for (const row of rows) {
      const text = row.querySelector('summary').textContent.toLowerCase()
      row.hidden = !words.every((word) => text.includes(word))
    }
    const found = rows.filter((row) => !row.hidden).length
    section.hidden = found === 0
    shown += found
  }
  document.querySelector('#shown').textContent = shown
})

// The event "toggle" does not bubble.
document.addEventListener('toggle', async ({ target }) => {
  const link = target.querySelector(':scope > p > a')
  if (!target.open || link === null || target.dataset.state) return
  target.dataset.state = 'loading'
  try {
    const response = await fetch(link.href)
    if (!response.ok) throw new Error(String(response.status))
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    target.append(page.querySelector('article'))
    target.dataset.state = 'loaded'
  } catch {
    delete target.dataset.state
    const note = document.createElement('p')
    note.setAttribute('role', 'alert')
    note.textContent = failed
    target.append(note)
  }
}, true)

document.addEventListener('submit', async (event) => {
  const form = event.target
  if (!form.matches('form.try')) return
  event.preventDefault()
  const token = document.querySelector('#token').value
  const headers = token === '' ? {} : { authorization: 'Bearer ' + token }
  const query = new URLSearchParams()
  let path = form.dataset.path
  for (const { dataset, value } of form.querySelectorAll('[data-in]')) {
    if (value === '') continue
    if (dataset.in === 'path') path = path.replace('{' + dataset.name + '}', encodeURIComponent(value))
    else if (dataset.in === 'header') headers[dataset.name] = value
    else for (const one of 'list' in dataset ? value.split(',') : [value]) query.append(dataset.name, one)
  }
  const body = form.elements.body?.value
  if (body !== undefined) headers['content-type'] = 'application/json'
  const address = new URL('..' + path + (query.size === 0 ? '' : '?' + query), root)
  const output = form.querySelector('output')
  const shown = document.createElement('pre')
  try {
    const response = await fetch(address, { method: form.dataset.method, headers, body })
    const text = await response.text()
    let json
    try { json = JSON.stringify(JSON.parse(text), null, 2) } catch {}
    shown.textContent = response.status + '\\n' + (json ?? text)
  } catch {
    shown.textContent = failed
  }
  output.replaceChildren(shown)
})
`
