/** Undoes actions with the keyboard alone. The clock of the page passes only when the test says so. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { findAccessibilityProblems, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { KeyboardActions } from './keyboard-hand.ts'
import { openBackOffice } from './operator-hand.ts'

/** Waits until an element has the focus. */
const hasFocus = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true }).and(page.locator(':focus')).waitFor()

t.test('the keyboard alone reaches the button that undoes an action', { skip, timeout: 600_000 }, async (t) => {
  const works: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const work of works.reverse()) await work()
  })
  const { root, url } = await startWithRows((work) => works.push(work))
  const { page, complaints } = await openBackOffice(t, url, password)
  await page.clock.install()
  const region = page.getByRole('status')
  const pausedText = 'Remove old approvals no longer runs automatically on any instance.'
  const message = page.locator('[data-toast]')
  const paused = message.filter({ hasText: pausedText })
  const isPaused = async () =>
    (await root('GET', 'admin/scheduler/tasks')).find(
      ({ name }: { readonly name: string }) => name === 'approval.purge',
    ).paused
  const hand = new KeyboardActions(page)
  const row = hand.row('Remove old approvals')
  const openSchedules = async () => {
    await page.goto(`${url}scheduler.tasks`)
    await row.waitFor()
    hand.keys = 0
    await hand.begin()
  }
  const rowFocus = () => row.getByRole('button', { name: 'Actions' }).and(page.locator(':focus')).waitFor()

  await t.test('F8 reaches the button, and the focus returns to the row', async (t) => {
    await openSchedules()
    await hand.choose(row, 'Pause')
    await region.filter({ hasText: `${pausedText}Undo` }).waitFor()
    await region.filter({ hasText: 'Press F8 to reach this button.' }).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await rowFocus()
    await hand.press('F8')
    await hasFocus(page, 'Undo')
    await page.clock.fastForward('10:00')
    t.equal(await paused.count(), 1, 'the message stays while it has the focus')
    t.equal(await isPaused(), true)
    await hand.press('Enter')
    await message.filter({ hasText: 'Remove old approvals runs automatically again.' }).waitFor()
    t.equal(await isPaused(), false)
    await rowFocus()
  })

  await t.test('Escape closes the message, but not the dialog behind it', async (t) => {
    await openSchedules()
    await hand.choose(row, 'Pause')
    await paused.waitFor()
    await hand.choose(row, 'Run now')
    await page.getByRole('dialog').locator(':is(input, button):focus').waitFor()
    await hand.press('F8')
    await hasFocus(page, 'Undo')
    await hand.press('Escape')
    await message.waitFor({ state: 'detached' })
    t.equal(await page.getByRole('dialog').count(), 1)
    await page.getByRole('dialog').locator(':focus').waitFor()
    t.equal(await isPaused(), true)
    await hand.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  await t.test('the time of a message starts again when the user leaves it', async (t) => {
    await openSchedules()
    await hand.choose(row, 'Resume')
    await message.waitFor()
    await page.clock.fastForward('00:15')
    await hand.press('F8')
    await hasFocus(page, 'Undo')
    await hand.press('Shift+Tab')
    await page.clock.fastForward('00:15')
    t.equal(await message.count(), 1)
    await message.hover()
    await page.clock.fastForward('10:00')
    t.equal(await message.count(), 1, 'the message stays while the pointer is above it')
    await page.mouse.move(0, 0)
    await page.clock.fastForward('00:25')
    await message.waitFor({ state: 'detached' })
  })

  await t.test('a rule that was disabled by mistake is enabled again', async (t) => {
    await page.goto(`${url}notification.rules`)
    const rule = hand.row('open-platform.balance-low')
    await rule.waitFor()
    hand.keys = 0
    await hand.begin()
    const isEnabled = async () => (await root('GET', 'notification-rules')).items[0].enabled
    await hand.choose(rule, 'Disable')
    await message.filter({ hasText: 'no longer sends messages.' }).waitFor()
    t.equal(await isEnabled(), false)
    await hand.press('F8')
    await hand.press('Enter')
    await message.filter({ hasText: 'sends messages again.' }).waitFor()
    t.equal(await isEnabled(), true)
  })
  t.strictSame(hand.problems, [])
  t.strictSame(complaints, [])
})
