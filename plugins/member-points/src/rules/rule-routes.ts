import { filterLabels, type LabelSource } from '@plinth/admin'
import type { PageWindow } from '@plinth/database'
import {
  currentVersion,
  filterQuery,
  id,
  idParams,
  instant,
  listPage,
  listQuery,
  listResponse,
  nullable,
  operatorVisibleTo,
  routesWith,
  Type,
} from '@plinth/http'
import { type GuardedRequest, requirePrincipal } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import type { Static } from 'typebox'
import { createAccessAudit, permissionCodes } from '../declarations.ts'
import { noExpiryTime, type RuleRow } from '../entities.ts'
import type { Texts } from '../members/texts.ts'
import type { Parts } from '../parts.ts'
import { displayText, ruleCode, ruleSettings, ruleTypes } from './rule-types.ts'
import type { Rules } from './rules.ts'

type RuleRouteDependencies = Pick<Parts, 'rules' | 'texts' | 'kernel'>

const path = '/api/v1/admin/member-points/rules'
const assetName = Type.String({ pattern: '^points:[a-z0-9.-]+$', maxLength: 64 })
const texts = { en: Type.String(), 'zh-CN': Type.String() }

const ruleView = Type.Object({
  id,
  code: ruleCode,
  version: currentVersion,
  type: Type.Enum(ruleTypes),
  asset: assetName,
  enabled: Type.Boolean(),
  config: ruleSettings,
  previousConfig: nullable(ruleSettings, {
    description: 'Settings of the previous version. Null for the first version.',
  }),
  displayName: Type.String(),
  displayTitle: nullable(Type.Object(texts)),
  displayDescription: nullable(Type.Object(texts)),
  current: Type.Boolean({
    description:
      'True for the version that applies now. Earlier versions are kept because points were granted by them.',
  }),
  activeFrom: instant,
  activeTo: nullable(instant),
  updatedBy: nullable(id),
})

const ruleBody = Type.Object({
  code: ruleCode,
  type: Type.Enum(ruleTypes),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  asset: Type.Optional(assetName),
  config: ruleSettings,
  displayTitle: Type.Optional(nullable(displayText(100))),
  displayDescription: Type.Optional(nullable(displayText(500))),
  version: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Version that the caller has read, or 0 for a new rule. If absent, the current version is replaced without a check.',
    }),
  ),
})

const filter = filterQuery(ruleView, ['type', 'asset', 'enabled'])

const ruleQuery = Type.Object({
  ...listQuery.properties,
  ...filter.properties,
  code: Type.Optional(
    Type.String({ ...ruleCode, description: 'Code of a rule. Returns all its versions, newest first.' }),
  ),
})

const byCode = [
  { property: 'activeTo', direction: 'asc' },
  { property: 'code', direction: 'asc' },
] as const
const byVersion = [{ property: 'version', direction: 'desc' }] as const

const { route } = routesWith<RuleRouteDependencies>()

export const ruleRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List points rules',
    access: { permission: permissionCodes.ruleView, scope: 'none' },
    request: { query: ruleQuery },
    response: listPage(ruleView),
    reasons: ['member-points.rule-unknown'],
    handler: (request, parts) => {
      const { query } = request
      const find = async (window: PageWindow) => {
        const found = await parts.rules.list({ code: query.code }, window)
        const before = await parts.rules.before(found.items)
        const items = found.items.map((rule) => viewOfRule(request, rule, parts.texts, before.get(rule.id)))
        return { ...found, items }
      }
      return listResponse(query, query.code === undefined ? byCode : byVersion, find, undefined, filter)
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a version of a points rule',
    access: { permission: permissionCodes.ruleView, scope: 'none' },
    request: { params: idParams },
    response: ruleView,
    reasons: ['member-points.rule-unknown'],
    async handler(request, { rules, texts }) {
      const rule = await rules.get(request.params.id)
      return viewOfRule(request, rule, texts, (await rules.before([rule])).get(rule.id))
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Save a points rule as its next version or as a new rule',
    access: { permission: permissionCodes.ruleSave, scope: 'all' },
    request: { body: ruleBody },
    response: ruleView,
    reasons: ['member-points.asset-unconfirmed', 'member-points.rule-conflict', 'member-points.rule-invalid'],
    async handler(request, { rules, texts, kernel }) {
      const { enabled = true, ...draft } = request.body
      const { userId } = requirePrincipal(request)
      const saved = await rules.save(
        { ...draft, enabled },
        userId,
        createAccessAudit(kernel, request, 'points-rule.save'),
      )
      return viewOfRule(request, saved, texts, (await rules.before([saved])).get(saved.id))
    },
  }),
]

function viewOfRule(
  request: Pick<GuardedRequest, 'principal' | 'locale'>,
  rule: RuleRow,
  names: Texts,
  before: RuleRow | undefined,
): Static<typeof ruleView> {
  const { id, code, version, type, asset, enabled, config, displayTitle, displayDescription, activeTo } = rule
  return {
    id,
    code,
    version,
    type,
    asset,
    enabled,
    config,
    previousConfig: before?.config ?? null,
    displayName: ruleName(rule, names, request.locale),
    displayTitle: displayTitle ?? null,
    displayDescription: displayDescription ?? null,
    current: activeTo === noExpiryTime,
    // Rules of the installation apply from time 0. For them, the time of their creation is shown instead.
    activeFrom: new Date(Math.max(rule.activeFrom, rule.createdAt.getTime())).toISOString(),
    activeTo: activeTo === noExpiryTime ? null : new Date(activeTo).toISOString(),
    updatedBy: operatorVisibleTo(request, rule.updatedBy),
  }
}

export const ruleName = ({ code, displayTitle }: RuleRow, names: Texts, locale: string): string =>
  displayTitle == null ? (names.find(locale, `tasks.${code}.name`) ?? code) : localize(displayTitle, locale)

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
