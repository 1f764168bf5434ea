/** Uses the back office in a browser as an operator does, and counts clicks and keys. */
import { until } from '@plinth/dev/testing'
import type { Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { openPage, type WatchedPage } from '../../plugins/console/test/fixtures/browser.ts'

/** Performs and counts the actions of one operator. */
export class OperatorActions {
  clicks = 0
  keys = 0
  characters = 0
  /** Steps after which the focus was lost, hidden or without a ring. A mouse finds none. */
  readonly problems: string[] = []
  readonly page: Page
  constructor(page: Page) {
    this.page = page
  }

  /** Called when the first page is displayed. */
  async begin() {}

  /** Called when the task is done. */
  async finish() {}

  /** Reduces a list to the rows of a filter, or to those that contain a text. */
  async narrow(filter: Locator, _text: string) {
    await this.click(filter)
  }

  /** Finds rows of a long table. With the mouse, the operator scrolls instead. */
  async search(_text: string) {}

  /** Opens the review of a draft. */
  async review() {
    await this.click(this.page.getByRole('button', { name: 'Review and save' }))
  }

  /** Saves a draft of one change in the shortest way. */
  async saveOne() {
    await this.click(this.page.getByRole('button', { name: 'Save now' }))
  }

  async click(target: Locator) {
    this.clicks += 1
    await target.click()
  }

  async press(key: string) {
    this.keys += 1
    await this.page.keyboard.press(key)
  }

  async type(target: Locator, text: string) {
    await this.click(target)
    this.characters += text.length
    await target.fill(text)
  }

  async typeInFocus(text: string) {
    this.characters += text.length
    await this.page.keyboard.type(text)
  }

  /** Chooses an option of a field with the mouse. @param within default: the open dialog */
  async pick(field: string, option: string, within: Pick<Locator, 'getByRole'> = this.dialog()) {
    await this.click(within.getByRole('combobox', { name: field }))
    await this.click(within.getByRole('option', { name: option, exact: true }))
  }

  /** Types letters until an option is highlighted. Enter chooses it, or leaving the field if the text identifies it. */
  async find(
    field: string,
    letters: string,
    option: string | RegExp,
    within: Pick<Locator, 'getByRole'> = this.dialog(),
  ) {
    await this.type(within.getByRole('combobox', { name: field }), letters)
    const found = within.getByRole('option', { name: option, exact: typeof option === 'string' })
    await found.and(this.page.locator('[data-combobox-selected]')).waitFor()
  }

  /**
   * Opens a page with the command palette. `letters` are typed as the search text, which must be sufficient to find the
   * page.
   */
  async goTo(letters: string, found: string) {
    const { page } = this
    await this.press('Control+K')
    await page.locator('[role=dialog] input:focus').waitFor()
    this.characters += letters.length
    await page.keyboard.type(letters)
    const first = page.locator('[role=dialog] [data-action]').first()
    await first.filter({ hasText: found }).waitFor()
    await this.press('Enter')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('main:not(:has([aria-busy=true]))').waitFor()
  }

  async choose(row: Locator, action: string) {
    await this.click(row.getByRole('button', { name: 'Actions' }))
    await this.click(this.page.getByRole('menuitem', { name: action }))
  }

  dialog = () => this.page.getByRole('dialog').last()
  button = (name: string) => this.dialog().getByRole('button', { name, exact: true })
  row = (text: string) => this.page.locator('main tbody tr', { hasText: text }).first()
  /** Returns the link of the navigation to a place. */
  place = (name: string) => this.page.getByRole('navigation').getByRole('link', { name, exact: true })
  /** Returns the link from an entry of "needs attention" to the page that fixes it. */
  attention = (title: string) => this.page.locator('main section li', { hasText: title }).getByRole('link')
}

export interface OperatorTask<Api> {
  readonly name: string
  /**
   * Maximum numbers of clicks, single keys and typed characters. If a task needs more, a change has made the back
   * office worse.
   */
  readonly most: readonly [clicks: number, keys: number, characters: number]
  /** Maximum number of keys with the keyboard alone. Characters that fields need are not included. */
  readonly mostKeys: number
  readonly work: (hand: OperatorActions) => Promise<unknown>
  /** Checks through the API that the task is done. It is omitted for tasks that only display something. */
  readonly isDone?: (api: Api) => Promise<boolean>
}

/** A back office with a signed-in user. */
interface OpenedBackOffice extends Pick<WatchedPage, 'page' | 'complaints'> {
  readonly url: string
}

/** Signs in, as `root` by default, in a new browser context. */
export async function openBackOffice(
  t: Test,
  url: string,
  password: string,
  username = 'root',
): Promise<OpenedBackOffice> {
  const { page, complaints } = await openPage(t.teardown, url, { locale: 'en' })
  await page.fill('input[autocomplete^=username]', username)
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await page.locator('nav a').first().waitFor()
  // Waits until no request is pending, because the test opens another page next.
  await page.locator('main:not(:has([aria-busy=true])) section').first().waitFor()
  return { page, complaints, url }
}

/** Performs the task, starting from the overview, and compares the counts with their maximum. */
export async function perform<Api>(
  t: Test,
  { page, complaints, url }: OpenedBackOffice,
  task: OperatorTask<Api>,
  api: Api,
  Hand = OperatorActions,
) {
  const { name, mostKeys, work, isDone } = task
  await page.goto(url)
  await page.locator('nav a').first().waitFor()
  const hand = new Hand(page)
  await hand.begin()
  await work(hand)
  await until(async () => (await isDone?.(api)) !== false, name, 50)
  await hand.finish()
  const most = Hand === OperatorActions ? task.most : [0, mostKeys, task.most[2]]
  t.comment(`${name}: ${hand.clicks} clicks, ${hand.keys} keys, ${hand.characters} characters`)
  for (const [index, count] of [hand.clicks, hand.keys, hand.characters].entries())
    t.ok(count <= (most[index] ?? 0), `${name}: ${count} of at most ${most[index]}`)
  t.strictSame(hand.problems, [], name)
  t.strictSame(complaints.splice(0), [], name)
}
