// @ts-check
/** @type {import('@plinth/admin').FrameHost} */
const host = globalThis.plinth

/** @type {import('@plinth/admin').FrameContext | undefined} */
let context

const cities = document.querySelector('#cities')
const note = document.querySelector('#note')

/**
 * @param {string} name
 * @param {string} className
 * @param {string} [text]
 */
function element(name, className, text = '') {
  const made = document.createElement(name)
  made.className = className
  made.textContent = text
  return made
}

async function show() {
  if (context === undefined) return
  try {
    const { items } = await host.call('getAdminAcmeDepots', { query: { size: 100 } })
    // The context is read after the call, because it may have changed meanwhile and responses may arrive in any order.
    const { language, texts } = context
    const groups = Object.entries(Object.groupBy(items, ({ city }) => city))
    groups.sort(([a], [b]) => a.localeCompare(b, language))
    cities.replaceChildren(...groups.map(([city, depots = []]) => cityOf(city, depots, items.length, texts)))
    note.textContent = items.length === 0 ? texts.empty : ''
  } catch (error) {
    note.textContent = error.message
  }
}

function cityOf(city, depots, total, texts) {
  const open = depots.filter(({ state }) => state === 'open')
  const section = element('section', 'city')
  const bar = element('div', 'bar')
  for (const [state, count] of [
    ['open', open.length],
    ['closed', depots.length - open.length],
  ]) {
    const part = element('span', state)
    part.style.width = `${(count / total) * 100}%`
    bar.append(part)
  }
  const counts = `${open.length} ${texts.open} · ${depots.length - open.length} ${texts.closed}`
  section.append(element('h2', '', city), bar, element('p', 'counts', counts))
  for (const depot of open) {
    const button = element('button', '', `${texts.close}: ${depot.name}`)
    button.addEventListener('click', () => close(depot))
    section.append(button)
  }
  return section
}

async function close(depot) {
  try {
    await host.call('putAdminAcmeDepotsByIdState', { params: { id: depot.id }, body: { state: 'closed' } })
  } catch (error) {
    if (error.code !== 'frame.cancelled') note.textContent = error.message
    return
  }
  await show()
}

host.onContext((next) => {
  context = next
  void show()
})
