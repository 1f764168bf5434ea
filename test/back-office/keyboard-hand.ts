/** Uses the back office like an operator who has only a keyboard. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { OperatorActions } from './operator-hand.ts'

/** The functions of `keyboard-page.js`. */
interface PageScript {
  readonly keyboardPage: {
    beforeKey(): void
    findFocusProblem(): string | undefined
    nextKey(target: unknown): string | undefined
  }
}

const pageScript = readFileSync(join(import.meta.dirname, 'keyboard-page.js'), 'utf8')
/** Maximum number of keys between two controls. */
const maxSteps = 80
/** Time in milliseconds after which the focus must have moved. */
const patienceMs = 10_000

/**
 * Performs the actions of an operator with Tab, arrow keys, Enter, Space and Escape, with letters, and with the
 * shortcuts that the back office lists. After each key, the focused element must be visible with a ring. When a dialog
 * closes, the focus must return to the element that opened it.
 */
export class KeyboardActions extends OperatorActions {
  override async begin() {
    await this.page.evaluate(pageScript)
  }

  override async click(target: Locator) {
    await this.#reach(target)
    const isBox = (await target.getAttribute('type')) === 'checkbox'
    await this.press(isBox ? 'Space' : 'Enter')
  }

  override async press(key: string) {
    // Before the first key, no element has the focus.
    if (this.keys > 0) await this.#look(`before ${key}`)
    await this.page.evaluate(() => (globalThis as unknown as PageScript).keyboardPage.beforeKey())
    await super.press(key)
    await this.#look(key)
  }

  override async type(target: Locator, text: string) {
    await this.#reach(target)
    await this.typeInFocus(text)
  }

  override async review() {
    await this.press('Control+Enter')
  }

  override async saveOne() {
    await this.review()
    await this.click(this.button('Save 1 change'))
  }

  override async search(text: string) {
    await this.page.getByRole('searchbox').first().waitFor()
    await this.press('/')
    for (const letter of text) await this.press(letter)
    await this.page.waitForURL((url) => url.searchParams.get('q') === text)
    await this.page.locator('main:not(:has([aria-busy=true]))').waitFor()
  }

  /** Searches, because the number of keys to a row in a filtered list grows with the list. */
  override async narrow(_filter: Locator, text: string) {
    await this.search(text)
  }

  override async pick(field: string, option: string, within: Pick<Locator, 'getByRole'> = this.dialog()) {
    await this.#reach(within.getByRole('combobox', { name: field }))
    const found = within.getByRole('option', { name: option, exact: true })
    await this.#walk(found.and(this.page.locator('[data-combobox-selected]')))
    await this.press('Enter')
  }

  override async choose(row: Locator, action: string) {
    await this.click(row.getByRole('button', { name: 'Actions' }))
    await this.page.locator('[role=menuitem]:focus').waitFor()
    await this.#walk(this.page.getByRole('menuitem', { name: action }).and(this.page.locator(':focus')))
    await this.press('Enter')
  }

  /** Closes the dialog that a task has left open. The focus must then return. */
  override async finish() {
    const dialog = this.page.getByRole('dialog').first()
    if (await dialog.isVisible()) await this.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await this.#look('the end')
  }

  /** Presses keys until the element has the focus. */
  async #reach(target: Locator) {
    await target.waitFor()
    for (let steps = 0; steps < maxSteps; steps++) {
      const key = await target.evaluate((element) =>
        (globalThis as unknown as PageScript).keyboardPage.nextKey(element),
      )
      if (key === undefined) return
      await this.press(key)
    }
    throw new Error(`the keyboard does not reach ${target}`)
  }

  /** Presses the down arrow until the option is highlighted. */
  async #walk(option: Locator) {
    for (let steps = 0; steps < maxSteps; steps++) {
      if ((await option.count()) > 0) return
      await this.press('ArrowDown')
    }
    throw new Error(`the arrow key does not reach ${option}`)
  }

  /** Waits until the user sees where the focus is. */
  async #look(when: string) {
    const find = () => (globalThis as unknown as PageScript).keyboardPage.findFocusProblem() ?? ''
    const isSolved = () => (globalThis as unknown as PageScript).keyboardPage.findFocusProblem() === undefined
    const options = { timeout: patienceMs }
    await this.page.waitForFunction(isSolved, undefined, options).catch(async () => {
      this.problems.push(`${when}: ${await this.page.evaluate(find)}`)
    })
  }
}
