import { createHash } from 'node:crypto'
import type { SocialMessage, SocialMessageType } from '../contract.ts'

/** What WeChat gets, and where. */
interface Capability {
  readonly path: string
  readonly needsTemplate: boolean
  body(message: SocialMessage, values: Readonly<Record<string, { readonly value: string }>>): object
}

const present = (members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** WeChat takes 32 characters. */
const clientId = (id: string) => (id.length <= 32 ? id : createHash('sha256').update(id).digest('hex').slice(0, 32))

/** Languages that a subscribe message knows. Another one is left out: WeChat takes its own default then. */
function languageOf(tag: string | undefined): string | undefined {
  if (tag === undefined) return undefined
  const { language, region, script } = new Intl.Locale(tag).maximize()
  if (language === 'en') return 'en_US'
  if (language !== 'zh') return undefined
  return region === 'HK' ? 'zh_HK' : script === 'Hant' ? 'zh_TW' : 'zh_CN'
}

/** Official documentation of WeChat: template messages, customer-service messages, subscribe messages. */
export const capabilities: Readonly<Record<SocialMessageType, Capability>> = {
  'official-template': {
    path: '/cgi-bin/message/template/send',
    needsTemplate: true,
    body: ({ toUser, templateId, url, clientMessageId }, data) =>
      present({ touser: toUser, template_id: templateId, url, client_msg_id: clientId(clientMessageId), data }),
  },
  'official-kefu-text': {
    path: '/cgi-bin/message/custom/send',
    needsTemplate: false,
    body: ({ toUser, content, kfAccount }) =>
      present({
        touser: toUser,
        msgtype: 'text',
        text: { content },
        customservice: kfAccount === undefined ? undefined : { kf_account: kfAccount },
      }),
  },
  'miniapp-subscribe': {
    path: '/cgi-bin/message/subscribe/send',
    needsTemplate: true,
    body: ({ toUser, templateId, page, miniprogramState, lang }, data) =>
      present({
        touser: toUser,
        template_id: templateId,
        page,
        miniprogram_state: miniprogramState,
        data,
        lang: languageOf(lang),
      }),
  },
}

const characters = (text: string) => [...text].length
const longest = (limit: number) => (text: string) => characters(text) <= limit

/** Rules of the kinds of template fields; the kind is the name without the digits at its end. */
const rules: Readonly<Record<string, ((text: string) => boolean) | undefined>> = {
  number: (text) => /^[-+]?[\d.,]{1,32}$/.test(text),
  letter: (text) => /^[A-Za-z]{1,32}$/.test(text),
  symbol: longest(5),
  character_string: (text) => characters(text) <= 32 && !/\p{Script=Han}/u.test(text),
  amount: (text) => /^[^\d\s]?[\d.,]{1,13}元?$/.test(text),
  phone_number: (text) => /^[\d+()\s-]{1,17}$/.test(text),
  car_number: longest(8),
  name: (text) => characters(text) <= (/^[\p{Script=Latin}\s.'-]*$/u.test(text) ? 20 : 10),
  phrase: (text) => /^\p{Script=Han}{1,5}$/u.test(text),
}
const longestThing = 20

/**
 * The values of a template as WeChat takes them. A `thing` that is too long is cut with an ellipsis; whatever else breaks
 * the rule of its kind is named, because cutting an amount or a number would make it another one.
 */
export function templateValues(
  data: Readonly<Record<string, string>>,
): { readonly values: Record<string, { readonly value: string }> } | { readonly refused: string } {
  const values: Record<string, { readonly value: string }> = {}
  for (const [name, text] of Object.entries(data)) {
    const kind = name.replace(/\d+$/, '')
    const value =
      kind === 'thing' && characters(text) > longestThing ? `${[...text].slice(0, longestThing - 1).join('')}…` : text
    if (value.trim() === '' || /[\r\n]/.test(value) || rules[kind]?.(value) === false) return { refused: name }
    values[name] = { value }
  }
  return { values }
}
