import { extensionPoint, type Localized, type LocalizedText, service, shape } from '@plinth/kernel'
import { categories as builtIn, type Category, categoryOf, modulesOf } from '../contract.ts'

/** A category of messages that a plugin declares. Messages with its name as their attribute `module` belong to it. */
export interface NotificationCategory {
  readonly title: LocalizedText
  /** True for messages that users cannot switch off, such as security notices. Default: false. */
  readonly required?: boolean
  /** Channels on which users get such messages by default. Default: all channels. */
  readonly channels?: Readonly<Record<string, boolean>>
}

/**
 * Categories of plugins, by their name. The categories of document 2 of the specification exist in every product; a
 * contribution with the name of one of them or of one of their modules, or with the name `all`, has no effect.
 *
 * @example contributes: [notificationCategory.of({ shipping: { title: { en: 'Shipping', 'zh-CN': '物流' } } })]
 */
export const notificationCategory = extensionPoint<NotificationCategory>('notification.category', {
  from: '@plinth/inbox',
  live: true,
  names: shape.kebab,
  shape: shape.object<NotificationCategory>(
    { title: shape.localized },
    { required: shape.flag, channels: shape.anyObject },
  ),
})

/** A channel that users can switch off per category, in addition to those of the specification. */
export interface PreferenceChannel {
  readonly title: LocalizedText
}

/** Channels of the preferences by their code, such as `push`. */
export const preferenceChannel = extensionPoint<PreferenceChannel>('notification.preference-channel', {
  from: '@plinth/inbox',
  live: true,
  names: shape.kebab,
  shape: shape.object<PreferenceChannel>({ title: shape.localized }),
})

export interface DeclaredCategory extends NotificationCategory {
  readonly code: string
}

/** The categories of messages of the product. */
export interface NotificationCategories {
  /** Returns the category of a message. @param module attribute of the message, in upper or lower case */
  of(module: unknown): { readonly code: string; readonly isRequired: boolean }
  /** Returns all categories: those of the specification first, then those of plugins by their name. */
  all(): readonly DeclaredCategory[]
  /** True if users cannot switch off the category on the channel, by declaration or by the default of an operator. */
  isFixed(channel: string, category: string): Promise<boolean>
}

export const notificationCategories = service<NotificationCategories>('notification.categories', {
  from: '@plinth/inbox',
})

const title = (en: string, zh: string): Localized => ({ en, 'zh-CN': zh })

const builtInTitles: Readonly<Record<Category, Localized>> = {
  system: title('System', '系统'),
  account: title('Account', '账号'),
  todo: title('To-do', '待办'),
  chat: title('Chat', '聊天'),
  blog: title('Blog', '博客'),
  forum: title('Forum', '论坛'),
  mall: title('Mall', '商城'),
  marketing: title('Marketing', '营销'),
}

/** Categories that this plugin declares in addition to those of the specification. */
export const ownCategories: Readonly<Record<string, NotificationCategory>> = {
  security: { title: title('Security', '安全'), required: true },
  legal: { title: title('Legal notices', '法律通知'), required: true },
}

/** Titles of the channels with a switch of their own (document 2 of the specification, "Preferences"). */
const builtInChannels: Readonly<Record<string, Localized>> = {
  database: title('Inbox', '站内信'),
  websocket: title('Open pages', '网页实时提醒'),
  mail: title('E-mail', '邮件'),
  sms: title('SMS', '短信'),
}

interface Contributions {
  readonly categories: ReadonlyMap<string, NotificationCategory>
  readonly channels: ReadonlyMap<string, PreferenceChannel>
}

/** Categories and channels of the preferences. Plugins may contribute until the product is ready. */
export class PreferenceTerms {
  readonly #contributed: Contributions

  constructor(contributed: Contributions) {
    this.#contributed = contributed
  }

  /** Categories of plugins whose name has no other meaning: the suppression list uses `all` for all categories. */
  get #own(): readonly (readonly [string, NotificationCategory])[] {
    const isFree = (code: string) => code !== 'all' && code !== 'system' && categoryOf(code) === 'system'
    return [...this.#contributed.categories].filter(([code]) => isFree(code))
  }

  of(module: unknown): { readonly code: string; readonly isRequired: boolean } {
    const name = typeof module === 'string' ? module.trim().toLowerCase() : ''
    const known = categoryOf(module)
    const own = known === 'system' ? this.#own.find(([code]) => code === name)?.[1] : undefined
    return own === undefined ? { code: known, isRequired: false } : { code: name, isRequired: own.required === true }
  }

  /**
   * Returns a condition for the modules of a category, the reverse of `of`. Modules are stored in lower case. An unknown
   * category has no modules.
   */
  moduleCondition(category: string): { readonly $in: readonly string[] } | { readonly $nin: readonly string[] } {
    const own = this.#own.map(([code]) => code)
    if (own.includes(category)) return { $in: [category] }
    const known = builtIn.find((one) => one === category)
    if (known !== 'system') return { $in: known === undefined ? [] : modulesOf(known) }
    return { $nin: [...builtIn.filter((one) => one !== 'system').flatMap(modulesOf), ...own] }
  }

  all(): readonly DeclaredCategory[] {
    const contributed = [...this.#own]
    return [
      ...builtIn.map((code) => ({ code, title: builtInTitles[code] })),
      ...contributed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([code, category]) => ({ ...category, code })),
    ]
  }

  find(code: string): DeclaredCategory | undefined {
    return this.all().find((category) => category.code === code)
  }

  channels(): readonly { readonly code: string; readonly title: LocalizedText }[] {
    const all = { ...Object.fromEntries(this.#contributed.channels), ...titled(builtInChannels) }
    const codes = new Set([...Object.keys(builtInChannels), ...Object.keys(all).sort()])
    return [...codes].flatMap((code) => (all[code] === undefined ? [] : [{ code, title: all[code].title }]))
  }
}

const titled = (titles: Readonly<Record<string, Localized>>): Record<string, PreferenceChannel> =>
  Object.fromEntries(Object.entries(titles).map(([code, title]) => [code, { title }]))

/** Returns whether users get messages of a category on a channel, if neither they nor an operator have decided. */
export const declaredDefault = ({ channels }: NotificationCategory, channel: string): boolean =>
  channels !== undefined && Object.hasOwn(channels, channel) ? channels[channel] === true : true
