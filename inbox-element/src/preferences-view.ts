import type { InboxApi } from './api.ts'
import { create, setText } from './dom.ts'
import type { Texts } from './texts.ts'

export type Preferences = Readonly<Record<string, unknown>> & {
  readonly locale?: string | null
  readonly timeZone?: string | null
}

/** Switches by group. The name of the field is the name of the text and `Enabled`. */
const groups = {
  channels: ['database', 'websocket', 'email', 'sms'],
  filter: ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing'],
} as const

/** Switches of channels and categories. A change is saved immediately. */
export class PreferencesView {
  readonly #api: Pick<InboxApi, 'call'>
  readonly #failed: (error: unknown) => void
  readonly #switches = new Map<string, { readonly box: HTMLInputElement; readonly text: HTMLElement }>()
  readonly #legends = new Map<keyof typeof groups, HTMLElement>()
  readonly element = create('div', { part: 'settings', hidden: true })

  constructor(api: Pick<InboxApi, 'call'>, failed: (error: unknown) => void) {
    this.#api = api
    this.#failed = failed
    for (const [group, names] of Object.entries(groups)) {
      const legend = create('legend')
      this.#legends.set(group as keyof typeof groups, legend)
      const fieldset = create('fieldset', {}, legend)
      for (const name of names) fieldset.append(this.#createSwitch(name))
      this.element.append(fieldset)
    }
  }

  /** @throws InboxError */
  async load(): Promise<Preferences> {
    const preferences = await this.#api.call<Preferences>('GET', '/preferences')
    for (const [name, { box }] of this.#switches) {
      box.checked = preferences[`${name}Enabled`] === true
      box.disabled = false
    }
    return preferences
  }

  render(texts: Texts): void {
    for (const [group, legend] of this.#legends) setText(legend, texts[group])
    for (const [name, { text }] of this.#switches) setText(text, texts[name as keyof Texts])
  }

  #createSwitch(name: string): HTMLElement {
    const box = create('input', {
      type: 'checkbox',
      role: 'switch',
      disabled: true,
      onchange: () => void this.#save(name, box),
    })
    const text = create('span')
    this.#switches.set(name, { box, text })
    return create('label', {}, box, text)
  }

  async #save(name: string, box: HTMLInputElement): Promise<void> {
    const value = box.checked
    try {
      await this.#api.call('PUT', '/preferences', { body: { [`${name}Enabled`]: value } })
    } catch (error) {
      box.checked = !value
      this.#failed(error)
    }
  }
}
