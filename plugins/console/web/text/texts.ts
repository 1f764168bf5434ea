import type factorTexts from '../admin/factors/text/en.json'
import type composeTexts from '../admin/own/compose/text/en.json'
import type configCentreTexts from '../admin/own/config-centre/text/en.json'
import type pluginTexts from '../admin/own/product-plugins/text/en.json'
import type roleTexts from '../admin/own/role-matrix/text/en.json'
import type securityTexts from '../admin/own/security/text/en.json'
import type workTexts from '../admin/pages/work/text/en.json'
import type providerTexts from '../admin/providers/text/en.json'
import type recoveryTexts from '../admin/recovery/text/en.json'
import type adminTexts from '../admin/text/en.json'
import type walletTexts from '../admin/wallet/text/en.json'
import en from './en.json' with { type: 'json' }
import { type Language, languages } from './language.ts'
import zhCN from './zh-CN.json' with { type: 'json' }

/** Union of the dotted keys of a catalogue. The plural forms `x_one` and `x_other` become the key `x`. */
type KeyOf<Tree> = {
  [Name in keyof Tree & string]: Tree[Name] extends string
    ? Name extends `${infer Stem}_${'one' | 'other'}`
      ? Stem
      : Name
    : `${Name}.${KeyOf<Tree[Name]>}`
}[keyof Tree & string]

/** Keys of the texts of all pages. Each page adds its texts with `addTexts`. */
export type TextKey =
  | KeyOf<typeof en>
  | KeyOf<typeof adminTexts>
  | KeyOf<typeof composeTexts>
  | KeyOf<typeof factorTexts>
  | KeyOf<typeof providerTexts>
  | KeyOf<typeof securityTexts>
  | KeyOf<typeof configCentreTexts>
  | KeyOf<typeof pluginTexts>
  | KeyOf<typeof roleTexts>
  | KeyOf<typeof recoveryTexts>
  | KeyOf<typeof walletTexts>
  | KeyOf<typeof workTexts>
type TextParams = Readonly<Record<string, string | number | undefined>>

/**
 * Returns a text in one language. An unknown key is a type error. A parameter replaces `{{name}}`, and `count` selects
 * the plural form.
 */
export type Translate = (key: TextKey, params?: TextParams) => string

/** The English texts define the type. A text that is missing in another language is therefore a type error. */
const commonTexts: Readonly<Record<Language, typeof en>> = { en, 'zh-CN': zhCN }
const catalogues: Readonly<Record<Language, Map<string, string>>> = {
  en: flat(commonTexts.en),
  'zh-CN': flat(commonTexts['zh-CN']),
}

const voices = new Map<Language, Translate>()

/** Adds the texts of one page. Call it before the first use of these texts. The English texts define the type. */
export function addTexts<T extends Tree>(texts: Readonly<Record<Language, T>>): void {
  for (const language of languages) flat(texts[language], '', catalogues[language])
}

/** Returns the translation function of a language. The same language always returns the same function. */
export function createTranslate(language: Language): Translate {
  const known = voices.get(language)
  if (known !== undefined) return known
  const texts = catalogues[language]
  const plural = new Intl.PluralRules(language)
  const translate: Translate = (key, params = {}) => {
    const form = texts.has(key) ? key : `${key}_${plural.select(Number(params['count']))}`
    return (texts.get(form) ?? key).replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(params[name] ?? ''))
  }
  voices.set(language, translate)
  return translate
}

interface Tree {
  readonly [name: string]: string | Tree
}

function flat(tree: Tree, prefix = '', texts = new Map<string, string>()): Map<string, string> {
  for (const [name, value] of Object.entries(tree)) {
    if (typeof value === 'string') texts.set(prefix + name, value)
    else flat(value, `${prefix}${name}.`, texts)
  }
  return texts
}
