import { filterLabels, type LabelSource } from '@plinth/admin'
import { permissionCodes } from './declarations.ts'
import type { Texts } from './members/texts.ts'
import { ruleName } from './rules/rule-routes.ts'
import type { Rules } from './rules/rules.ts'

/** The id of a label is the code of the rule. */
export const ruleLabels = (rules: Rules, texts: Texts): LabelSource => ({
  permission: permissionCodes.ruleView,
  scope: 'none',
  async byIds(codes, { locale }) {
    const found = await rules.current(codes)
    return [...found.values()].map((rule) => ({ id: rule.code, name: ruleName(rule, texts, locale) }))
  },
  async search(text, { locale }) {
    const { items } = await rules.list({}, firstRules)
    return filterLabels(
      items.map((rule) => ({ id: rule.code, name: ruleName(rule, texts, locale) })),
      text,
    )
  },
})

const firstRules = {
  orderBy: [
    { property: 'activeTo', direction: 'asc' },
    { property: 'code', direction: 'asc' },
  ],
  size: 200,
  offset: 0,
  count: 'none',
} as const
