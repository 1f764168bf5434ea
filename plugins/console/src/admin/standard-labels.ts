import { createStaticLabelSource, type Label, type LabelSource } from '@plinth/admin'

/** Languages with the most speakers on the web, as BCP 47 tags. A form may accept other languages as text. */
const languages = (
  'en zh-CN zh-TW es hi ar bn pt pt-BR ru ja de fr ko it tr vi pl uk nl id ms th fa ' +
  'he el cs sv da fi nb hu ro bg hr sk ca fil ur ta'
).split(' ')

const named = (ids: readonly string[], type: 'language' | 'currency', locale: string): readonly Label[] => {
  const names = new Intl.DisplayNames(locale, { type, fallback: 'code' })
  return ids.map((id) => ({ id, name: `${names.of(id)} (${id})` }))
}

/** Sources of names that belong to no plugin: time zones (IANA), languages (BCP 47) and currencies (ISO 4217). */
export const standardLabels: Readonly<Record<string, LabelSource>> = {
  'console.time-zone': createStaticLabelSource(() =>
    ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => ({ id: zone, name: zone.replaceAll('_', ' ') })),
  ),
  'console.language': createStaticLabelSource((locale) => named(languages, 'language', locale)),
  'console.currency': createStaticLabelSource((locale) =>
    named(Intl.supportedValuesOf('currency'), 'currency', locale),
  ),
}
