/** Writes a message in the back office: fields of the template, errors, previews, a test, and scheduled messages. */
import { database } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { events } from '@plinth/events'
import { type Clock, systemClock } from '@plinth/kernel'
import t from 'tap'
import { findAccessibilityProblems, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { pick, setTime } from './message-hand.ts'
import { openBackOffice } from './operator-hand.ts'

const dayMs = 86_400_000

t.test('N-001 N-032 a message is written, tested, scheduled and cancelled', { skip, timeout: 600_000 }, async (t) => {
  const works: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const work of works.reverse()) await work()
  })
  let passedMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + passedMs }
  const { root, running, url } = await startWithRows((work) => works.push(work), { clock })
  const text = 'Dear {{user.name}}, tea costs {{price}}.{{#if note}} {{note}}{{/if}}'
  await root('POST', 'admin/templates', { code: 'sale', locale: 'en', subject: 'Tea costs {{price}}', content: text })
  await root('POST', 'admin/iam/users', { username: 'eva', password })
  const subjects = async (channel: string): Promise<string[]> => {
    const { items } = await root('GET', `notification-send-logs?channel=${channel}`)
    return items.map(({ subject }: { readonly subject: string }) => subject)
  }

  const { page, complaints } = await openBackOffice(t, url, password)
  const main = page.locator('main')
  await page.goto(`${url}notification.messages`)
  await main.getByRole('link', { name: 'New message' }).last().click()
  await page.getByRole('heading', { level: 1, name: 'New message' }).waitFor()
  for (const channel of ['Inbox', 'E-mail', 'Webhook']) await pick(page, 'Channels', channel)
  await pick(page, 'Template', 'sale')
  await main.getByLabel('user.name').waitFor()
  await main.getByRole('button', { name: 'Send', exact: true }).click()
  const errors = main.getByRole('alert')
  t.strictSame(await errors.getByRole('listitem').allInnerTexts(), [
    'Recipients Number of items: at least 1.',
    'price This field is required.',
    'user.name This field is required.',
  ])
  t.strictSame(await findAccessibilityProblems(page), [], 'with errors')

  await pick(page, 'Recipients', 'anna')
  await pick(page, 'Recipients', 'eva')
  await main.getByLabel('price').fill('7 EUR')
  await main.getByLabel('user.name').fill('Anna')
  const preview = (channel: string) => main.getByRole('article', { name: channel })
  await preview('Inbox').getByText('Dear Anna, tea costs 7 EUR.').waitFor()
  await preview('Inbox').getByText('2 people get it.').waitFor()
  await preview('E-mail').getByText('Dear Anna, tea costs 7 EUR.').waitFor()
  await preview('E-mail').getByText('1 person has no e-mail address: eva').waitFor()
  await preview('Webhook').getByText('Goes to the receiver in the configuration').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [], 'with previews')

  const posts = await subjects('webhook')
  await main.getByRole('button', { name: 'Send to me' }).click()
  const sent = page.getByRole('dialog', { name: 'Sent to you' })
  await sent.locator('tbody tr', { hasText: 'Inbox' }).getByText('Accepted').waitFor()
  await sent.locator('tbody tr', { hasText: 'E-mail' }).getByText('Accepted').waitFor()
  await page.keyboard.press('Escape')
  t.equal((await subjects('mail'))[0], 'Tea costs 7 EUR')
  t.strictSame(await subjects('webhook'), posts, 'nobody in a chat sees the test')
  const own = (await root('GET', 'notifications/inbox')).items
  t.hasStrict(own[0], { subject: 'Tea costs 7 EUR' })

  await setTime(page)
  await main.getByRole('button', { name: 'Schedule', exact: true }).click()
  const confirm = page.getByRole('dialog', { name: 'Schedule this message?' })
  await confirm.getByText(/15.*9:30/).waitFor()
  await confirm.getByText('anna and eva').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [], 'the question')
  await confirm.getByRole('button', { name: 'Schedule', exact: true }).click()
  const result = page.getByRole('dialog', { name: 'Result' })
  await result.getByText(/The message is scheduled for .*9:30/).waitFor()
  await result.getByRole('link', { name: 'Waiting messages' }).click()
  const row = main.locator('tbody tr', { hasText: 'Tea costs' })
  await row.getByText('root').waitFor()
  await row.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Cancel message' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
  await main.getByText('No message is waiting.').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [], 'the empty list')

  await main.getByRole('link', { name: 'New message' }).last().click()
  await pick(page, 'Recipients', 'anna')
  await main.getByLabel('Subject').fill('The shop is open')
  await setTime(page)
  await main.getByRole('button', { name: 'Schedule', exact: true }).click()
  await confirm.getByRole('button', { name: 'Schedule', exact: true }).dblclick()
  await result.getByText(/The message is scheduled for/).waitFor()
  const { total } = await root('GET', 'admin/notification/scheduled-messages')
  t.equal(total, 1, 'a double click schedules one message')
  t.strictSame(complaints, [])

  passedMs = 50 * dayMs
  const store = running.service(database)
  const open = `select subject from notification_send_log where subject = 'The shop is open' and status = 'success'`
  const isSent = async () => {
    await running.service(events).idle()
    return (await store.query(open)).length > 0
  }
  await until(isSent, 'the message is sent')
  t.equal((await store.query(open)).length, 1)
  const never = await store.query(`select id from notification_message where state = 'cancelled'`)
  t.equal(never.length, 1)
  t.equal((await store.query(`select id from notification_message where state = 'queued'`)).length, 0)
})
