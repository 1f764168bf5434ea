import type { FieldView, SchemaView } from '../contract.ts'
import type { Say } from '../texts.ts'
import { allFields, fields } from './fields.ts'

/**
 * Field metadata of the form: definitions alone, no values (I-099, I-100).
 *
 * @param facts `passwordPolicies`: those of the product, with their rules in words; `disks`: those of the product
 */
export function formSchema(
  locale: string,
  say: Say,
  {
    passwordPolicies,
    disks,
  }: { readonly passwordPolicies: Readonly<Record<string, string>>; readonly disks: readonly string[] },
): SchemaView {
  const valuesOf = (candidates: (typeof allFields)[number]['candidates'] = []) => {
    if (candidates === 'disks') return disks
    if (candidates === 'password-policies') return Object.keys(passwordPolicies)
    return candidates === 'time-zones' ? Intl.supportedValuesOf('timeZone') : candidates
  }
  const viewOf = ({
    path,
    name,
    type,
    required = false,
    candidates,
    hints,
  }: (typeof allFields)[number]): FieldView => ({
    name,
    label: say(locale, `field.${path}.label`),
    description: say(locale, `field.${path}.description`),
    type,
    required,
    candidates: valuesOf(candidates).map((value) => ({
      value,
      label: say(locale, `option.${path}.${value}`, { rules: passwordPolicies[value] ?? '' }) || value,
    })),
    hints,
  })
  const groups = Object.keys(fields) as (keyof typeof fields)[]
  return {
    groups: groups.map((code) => ({
      code,
      label: say(locale, `group.${code}.label`),
      description: say(locale, `group.${code}.description`),
      fields: allFields.filter(({ group }) => group === code).map(viewOf),
    })),
  }
}
