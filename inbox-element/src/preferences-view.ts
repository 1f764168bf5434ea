import type { InboxApi } from './api.ts'
import { create } from './dom.ts'

/** Whether the user gets the messages of one category on one channel. */
interface Cell {
  /** Channel and category, such as `mail/marketing`. */
  readonly cell: string
  readonly channelName: string
  readonly category: string
  readonly categoryName: string
  readonly enabled: boolean
  /** True if the user cannot change it. */
  readonly locked: boolean
}

/** Switches of the channels of each category. A change is saved immediately. */
export class PreferencesView {
  readonly #api: Pick<InboxApi, 'call'>
  readonly #failed: (error: unknown) => void
  /** Number of calls of `load` and `clear`. Only the response to the last one is shown. */
  #loads = 0
  readonly element = create('div', { part: 'settings', hidden: true })

  constructor(api: Pick<InboxApi, 'call'>, failed: (error: unknown) => void) {
    this.#api = api
    this.#failed = failed
  }

  /** @throws InboxError */
  async load(): Promise<void> {
    const load = ++this.#loads
    const cells = await this.#api.call<readonly Cell[]>('GET', '/preferences/cells')
    if (load !== this.#loads) return
    this.clear()
    for (const [, ofCategory] of Map.groupBy(cells, ({ category }) => category)) {
      const legend = create('legend', {}, ofCategory[0]?.categoryName ?? '')
      this.element.append(create('fieldset', {}, legend, ...ofCategory.map((cell) => this.#createSwitch(cell))))
    }
  }

  /** Removes all switches. */
  clear(): void {
    this.#loads++
    this.element.replaceChildren()
  }

  #createSwitch({ cell, channelName, enabled, locked }: Cell): HTMLElement {
    const onchange = () => void this.#save(cell, box)
    const box = create('input', { type: 'checkbox', role: 'switch', checked: enabled, disabled: locked, onchange })
    return create('label', {}, box, channelName)
  }

  async #save(cell: string, box: HTMLInputElement): Promise<void> {
    const enabled = box.checked
    try {
      await this.#api.call('PUT', `/preferences/cells/${cell}`, { body: { enabled } })
    } catch (error) {
      box.checked = !enabled
      this.#failed(error)
    }
  }
}
