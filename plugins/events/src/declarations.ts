import {
  type AuditTexts,
  defineBusinessErrors,
  errorTable,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Errors of plugin authors that this plugin detects. */
export const eventsError = errorTable({
  PLINTH_EVENTS_HANDLER_TAKEN: `Event "{{event}}" already has a handler named "{{handler}}".
    Give each handler of an event a unique name that begins with the id of its plugin.`,
  PLINTH_EVENTS_HANDLER_NAME: `"{{handler}}" is not a valid handler name.
    Use 1 to 128 characters: a-z, 0-9, dots and hyphens.`,
  PLINTH_EVENTS_EVENT: `{{place}} {{reason}}.
    Define the event once with event(id, schema) and pass the result. The id has at most 128 characters in dotted lower-case words, for example "acme.order-paid".`,
  PLINTH_EVENTS_SCHEMA: `Event "{{event}}" is published with two different schemas.
    Define the event once and import it, or choose another id. Ids of events begin with the id of their plugin.`,
  PLINTH_EVENTS_HANDLER: `The handler "{{handler}}" of event "{{event}}" is {{found}} instead of a function.
    Pass a function: events.on(orderPaid, "acme.count", ({ payload }) => count(payload)).`,
  PLINTH_EVENTS_PAYLOAD: `The payload of "{{event}}" does not match the schema: {{reason}}.
    Pass a value that matches the schema of the event, consists of JSON values and has at most 1 MiB.`,
  PLINTH_EVENTS_KEY: `Event "{{event}}" was published with an invalid key.
    Use 1 to 200 characters without control characters.`,
  PLINTH_EVENTS_NOT_BEFORE: `Event "{{event}}" was published with an invalid time: {{reason}}.
    Pass whole milliseconds, at most ten years ahead, as notBefore or delayMs, and no ordering key.`,
})

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('events', en.events, {
  'event-unknown': '404',
  'event-finished': '409',
})

export const permissionCodes = { view: 'events:outbox:view', replay: 'events:outbox:replay' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.view,
    displayName: { en: 'View the outbox', 'zh-CN': '查看发件箱' },
    description: { en: 'Events with their payloads.', 'zh-CN': '事件及其内容。' },
  },
  {
    code: permissionCodes.replay,
    displayName: { en: 'Retry and skip events', 'zh-CN': '重新投递和跳过事件' },
  },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'outbox-event': {
    title: text('Event', '事件'),
    page: 'events.event',
    labels: 'events.event',
    actions: {
      replay: text('Deliver again', '重新投递'),
      skip: text('Skip', '跳过'),
    },
  },
}
