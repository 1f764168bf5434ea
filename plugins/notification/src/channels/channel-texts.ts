import type { Translator } from '@plinth/i18n'
import { fillText, type TextParams } from '@plinth/kernel'
import en from '../messages/en.json' with { type: 'json' }

type TextName = keyof (typeof en)['channel-page']

/** What operators read when they check a channel, in their language; English in a product without languages. */
export class ChannelTexts {
  readonly #translator: Pick<Translator, 'translate'> | undefined

  constructor({ translator }: { readonly translator: Pick<Translator, 'translate'> | undefined }) {
    this.#translator = translator
  }

  say(locale: string, name: TextName, params: TextParams = {}): string {
    const own = en['channel-page'][name]
    return this.#translator?.translate(locale, `messages.channel-page.${name}`, params) ?? fillText(own, params)
  }
}
