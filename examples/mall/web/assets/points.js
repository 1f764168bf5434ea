import { calendar, monthAfter, nameOfMonth } from './calendar.js'
import { byId, call, change, element, language, moment, number, Refusal, translate } from './shop.js'

const root = 'member-points'
/** Number of entries per call. */
const pageSize = 10
/** Earliest month of the calendar. */
const earliestMonth = '2000-01'

document.documentElement.lang = language
document.title = `${translate('title')} · ${document.title}`
for (const one of document.querySelectorAll('[data-text]')) one.textContent = translate(one.dataset.text)
for (const one of document.querySelectorAll('[data-label]'))
  one.setAttribute('aria-label', translate(one.dataset.label))
document.querySelector(`.languages [hreflang="${language}"]`).setAttribute('aria-current', 'true')

const heard = (text) => element('span', { class: 'heard' }, text)

/** Shows the loaded content, or the error with a retry button. Without a session it redirects to the sign-in. */
async function shown(place, load) {
  place.setAttribute('aria-busy', 'true')
  if (place.childElementCount === 0) place.append(element('p', { class: 'lead' }, translate('loading')))
  try {
    place.replaceChildren(...[await load()].flat())
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === '401') return signedOut()
    const again = element(
      'button',
      { type: 'button', class: 'quiet', click: () => shown(place, load) },
      translate('again'),
    )
    place.replaceChildren(element('p', { class: 'refusal', role: 'alert' }, error.message), again)
  } finally {
    place.removeAttribute('aria-busy')
  }
}

async function overview() {
  const has = await call('GET', `${root}/users/me/overview`)
  const fact = (name, value) => element('div', {}, element('dt', {}, name), element('dd', {}, number(value)))
  return [
    element(
      'dl',
      { class: 'balance' },
      fact(translate('available'), has.available),
      fact(translate('frozen'), has.frozen),
      fact(translate('expiringSoon', { days: number(has.expiringSoonDays) }), has.expiringSoon),
    ),
    element('h2', { class: 'lead' }, translate('thisMonth')),
    element(
      'dl',
      { class: 'month', 'aria-label': translate('thisMonth') },
      ['monthEarned', 'monthReturned', 'monthUsed', 'monthReversed', 'monthExpired'].map((name) =>
        fact(translate(name), has[name]),
      ),
    ),
  ]
}

/** Displayed month of the calendar; if unset, the current month of the programme. */
let month

async function showCalendar() {
  const wanted = month
  const place = byId('calendar')
  byId('month-before').disabled = byId('month-after').disabled = wanted === undefined
  await shown(place, async () => {
    const query = wanted === undefined ? {} : { month: wanted }
    const answer = await call('GET', `${root}/users/me/check-ins`, { query })
    // The user has selected another month, which is already loading.
    if (month !== wanted) return [...place.childNodes]
    month = answer.month
    byId('month').textContent = nameOfMonth(month)
    byId('month-before').disabled = month <= earliestMonth
    byId('month-after').disabled = month >= answer.today.slice(0, 7)
    return calendar(answer)
  })
}

for (const [id, count] of [
  ['month-before', -1],
  ['month-after', 1],
]) {
  byId(id).addEventListener('click', () => {
    month = monthAfter(month, count)
    void showCalendar()
  })
}

/** Shows the consecutive days, and the points of today or tomorrow. */
function showStreak(task) {
  const button = byId('check-in-now')
  if (task === undefined || !task.enabled) {
    button.hidden = true
    byId('streak').textContent = translate('notOffered')
    return
  }
  const { checkedIn, consecutiveDays, nextPoints } = task.checkIn
  const form = new Intl.PluralRules(language).select(consecutiveDays) === 'one' ? 'One' : 'Other'
  const key = consecutiveDays === 0 ? 'streakNone' : `streak${checkedIn ? '' : 'Open'}${form}`
  byId('streak').textContent = translate(key, { days: number(consecutiveDays), points: number(nextPoints) })
  button.hidden = false
  button.disabled = checkedIn
  button.textContent = checkedIn ? translate('checkedInToday') : translate('checkInFor', { points: number(nextPoints) })
}

/** Returns the progress of a task: the day of the cycle, or the completion. */
function progress({ type, completed, repeatable, checkIn, rule }) {
  if (type !== 'check-in') {
    const state = completed ? 'taskDone' : repeatable ? 'taskRepeatable' : 'taskOpen'
    return element('span', { class: 'state', 'data-done': completed }, translate(state))
  }
  const { consecutiveDays, checkedIn } = checkIn
  const days = rule.cycleDays ?? 7
  const day = consecutiveDays === 0 ? 0 : ((consecutiveDays - 1) % days) + 1
  const label = translate('dayOfCycle', { day: number(day), days: number(days) })
  return element(
    'span',
    { class: 'state', 'data-done': checkedIn },
    element('progress', { max: String(days), value: String(day), 'aria-label': label }),
    ` ${label}`,
    checkedIn && element('span', {}, ` · ${translate('taskDoneToday')}`),
  )
}

async function tasks() {
  const all = await call('GET', `${root}/tasks`)
  showStreak(all.find(({ type }) => type === 'check-in'))
  const offered = all.filter(({ enabled }) => enabled)
  if (offered.length === 0) return element('p', { class: 'lead' }, translate('noTasks'))
  const item = (task) => {
    const points = task.type === 'check-in' ? task.checkIn.nextPoints : task.rule.points
    // The text of an order task contains its points.
    const reward =
      task.type !== 'order' &&
      points > 0 &&
      element(
        'span',
        { class: 'reward' },
        heard(translate('reward', { points: number(points) })),
        element('span', { 'aria-hidden': 'true' }, change(points)),
      )
    return element(
      'li',
      { class: 'row' },
      element(
        'div',
        {},
        element('h3', {}, task.displayTitle),
        element('p', { class: 'lead' }, task.displayDescription),
        progress(task),
      ),
      reward,
    )
  }
  return element('ul', { class: 'rows' }, offered.map(item))
}

function entry({ displayName, displayTitle, displayDescription, points, frozenPoints, availableAfter, createdAt }) {
  const what = [displayTitle === displayName ? '' : displayName, displayDescription].filter((text) => text !== '')
  return element(
    'li',
    { class: 'row' },
    element(
      'div',
      {},
      element('h3', {}, displayTitle),
      what.length > 0 && element('p', { class: 'lead' }, what.join(' · ')),
      element('time', { class: 'lead', datetime: createdAt }, moment(createdAt)),
    ),
    element(
      'div',
      { class: 'sums' },
      element(
        'span',
        { class: 'sum', 'data-sign': points > 0 ? 'more' : points < 0 ? 'less' : 'none' },
        change(points),
      ),
      frozenPoints !== 0 && element('span', { class: 'lead' }, translate('held', { points: change(frozenPoints) })),
      availableAfter !== null &&
        element('span', { class: 'lead' }, translate('balance', { points: number(availableAfter) })),
    ),
  )
}

/** Shows the newest entries and a button for earlier ones. */
async function ledger() {
  const ask = (cursor) =>
    call('GET', `${root}/users/me/ledgers`, { query: { size: pageSize, count: 'none', ...(cursor && { cursor }) } })
  const { items, next } = await ask()
  if (items.length === 0) return element('p', { class: 'lead' }, translate('noEntries'))
  const list = element('ol', { class: 'rows' }, items.map(entry))
  const end = element('div', { class: 'more' })
  const showEnd = (cursor) => {
    if (!cursor) return end.replaceChildren(element('p', { class: 'lead' }, translate('allShown')))
    const more = async () => {
      const found = await ask(cursor)
      const added = found.items.map(entry)
      list.append(...added)
      // Keyboard users continue at the first added entry.
      added[0]?.setAttribute('tabindex', '-1')
      added[0]?.focus()
      showEnd(found.next)
      return [...end.childNodes]
    }
    const button = element(
      'button',
      { type: 'button', class: 'quiet', click: () => shown(end, more) },
      translate('earlier'),
    )
    end.replaceChildren(button)
  }
  showEnd(next)
  return [list, end]
}

function showAll() {
  byId('sign-in').hidden = true
  byId('sign-out').hidden = false
  byId('points').hidden = false
  return Promise.all([
    shown(byId('overview'), overview),
    showCalendar(),
    shown(byId('tasks'), tasks),
    shown(byId('ledger'), ledger),
  ])
}

function signedOut() {
  byId('points').hidden = true
  byId('sign-out').hidden = true
  for (const id of ['overview', 'calendar', 'tasks', 'ledger']) byId(id).replaceChildren()
  byId('told').textContent = ''
  month = undefined
  byId('sign-in').hidden = false
}

byId('check-in-now').addEventListener('click', async ({ currentTarget: button }) => {
  button.disabled = true
  const told = byId('told')
  try {
    const { repeated, points, settled } = await call('POST', `${root}/users/me/check-in`)
    const granted = settled > 0 ? 'grantedSettled' : 'granted'
    const figures = { points: number(points - settled), settled: number(settled) }
    told.textContent = translate(repeated ? 'repeated' : granted, figures)
    month = undefined
    await showAll()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === '401') return signedOut()
    told.textContent = error.message
    button.disabled = false
  }
})

byId('sign-out').addEventListener('click', async () => {
  await call('POST', 'auth/logout').catch(() => {})
  signedOut()
})

byId('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault()
  const form = event.currentTarget
  const button = form.querySelector('button')
  const refusal = form.querySelector('[role=alert]')
  const { username, password } = Object.fromEntries(new FormData(form))
  button.disabled = true
  refusal.hidden = true
  try {
    await call('POST', 'auth/login', { body: { username, password, session: 'cookie' } })
    form.reset()
    await showAll()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    refusal.textContent = error.message
    refusal.hidden = false
  } finally {
    button.disabled = false
  }
})

await call('GET', 'iam/users/me').then(showAll, (error) => {
  if (error.code === '401') return signedOut()
  // Each part shows its error with a retry button.
  return showAll()
})
