import { permission, pluginWith } from '@plinth/resource'
import { businessError, permissionCodes } from './declarations.ts'
import { Rule } from './entities.ts'
import { ruleFilter } from './rule-export.ts'
import { ruleChange, ruleRequest, ruleView, viewOfRule } from './rule-views.ts'
import { mergedRule, type Rules, saverColumnsOf } from './rules.ts'

/** The path does not contain `/admin/`, because document 2 of the specification defines it in this form. */
export const path = '/api/v1/notification-rules'

/** Reason codes of the routes that change rules. */
export const ruleReasons = [
  'notification-rules.channel-unknown',
  'notification-rules.code-taken',
  'notification-rules.event-invalid',
  'notification-rules.recipients-needed',
  'notification-rules.too-many',
  'notification-rules.unknown',
  'notification-rules.version-conflict',
]

const ruleJson = Rule.customShape({
  view: ruleView,
  viewOf: viewOfRule,
  create: ruleRequest,
  change: ruleChange,
})

interface Parts {
  readonly rules: Rules
}
const view = permission(permissionCodes.ruleView, 'View notification rules', '查看通知规则')
const create = permission(permissionCodes.ruleCreate, 'Create notification rules', '创建通知规则')
const update = permission(permissionCodes.ruleUpdate, 'Change notification rules', '修改通知规则')
const remove = permission(permissionCodes.ruleDelete, 'Delete notification rules', '删除通知规则')

const afterCommit = ({ parts }: { readonly parts: Parts }) => parts.rules.changed()
const changing = { access: update, throws: ruleReasons, afterCommit } as const

/** Operations on one rule, and the list (document 2 of the specification, "Notification rules"). */
export const ruleOperations = pluginWith<Parts>().resource(ruleJson, {
  area: 'notification-rules',
  path,
  legacyPath: true,
  notFound: 'unknown',
  errors: businessError,
  rows: (principal, { rules }) => rules.rowsOf(principal),
  list: { access: view, filters: ['enabled'], search: ['code'], sort: ['id', 'code', 'createdAt'], query: ruleFilter },
  get: { access: view },
  create: {
    access: create,
    throws: [
      'notification-rules.channel-unknown',
      'notification-rules.recipients-needed',
      'notification-rules.too-many',
      'notification-rules.unknown',
    ],
    prepare: ({ input, operator, parts }) => parts.rules.prepare(input, undefined, operator),
    afterCommit,
  },
  change: {
    ...changing,
    prepare: ({ input, before, operator, parts }) => parts.rules.prepare(mergedRule(before, input), before, operator),
  },
  remove: { access: remove, throws: ['notification-rules.ids-invalid'], afterCommit },
  actions: {
    enable: {
      ...changing,
      title: ['Enable', '启用'],
      set: ({ operator }) => ({ enabled: true, ...saverColumnsOf(operator) }),
    },
    disable: {
      ...changing,
      title: ['Disable', '停用'],
      set: ({ operator }) => ({ enabled: false, ...saverColumnsOf(operator) }),
    },
  },
  audit: {
    kind: 'notification-rule',
    summary({ code, enabled, thresholdCount, channels, recipientUserIds, escalationEnabled }, verb) {
      if (verb !== 'create' && verb !== 'update') return { code }
      return { code, enabled, thresholdCount, channels, recipientUserIds, escalation: escalationEnabled }
    },
  },
})
