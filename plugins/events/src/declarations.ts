import { defineBusinessErrors, errorTable, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Programming errors that this plugin detects. */
export const eventsError = errorTable({
  PLINTH_EVENTS_HANDLER_TAKEN: `Event "{{event}}" has a handler named "{{handler}}" already.
    Name each handler of an event differently, beginning with the id of its plugin.`,
  PLINTH_EVENTS_HANDLER_NAME: `"{{handler}}" cannot name a handler.
    Use 1 to 128 characters: a-z, 0-9, dots and hyphens.`,
  PLINTH_EVENTS_EVENT: `{{place}} {{reason}}.
    Define the event once with event(id, schema), under dotted lower-case words such as "acme.order-paid" of at most 128 characters, and pass what it returns.`,
  PLINTH_EVENTS_HANDLER: `The handler "{{handler}}" of event "{{event}}" is {{found}} instead of a function.
    Pass a function: events.on(orderPaid, "acme.count", ({ payload }) => count(payload)).`,
  PLINTH_EVENTS_PAYLOAD: `The payload of "{{event}}" does not fit: {{reason}}.
    Hand over what the schema of the event describes, in values that JSON can carry, at most 1 MiB.`,
  PLINTH_EVENTS_KEY: `An event "{{event}}" was published under a key that cannot be one.
    Use 1 to 200 characters without control characters.`,
  PLINTH_EVENTS_NOT_BEFORE: `An event "{{event}}" was published with a time that it cannot have: {{reason}}.
    Give whole milliseconds, at most ten years ahead, as notBefore or as delayMs, and no ordering key.`,
})

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('events', en.events, {
  'event-unknown': '404',
  'event-finished': '409',
})

/** Permission codes of this plugin. */
export const permissionCodes = { view: 'events:outbox:view', replay: 'events:outbox:replay' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.view,
    displayName: { en: 'View the outbox', 'zh-CN': '查看发件箱' },
    description: { en: 'Events with their payloads.', 'zh-CN': '事件及其内容。' },
  },
  {
    code: permissionCodes.replay,
    displayName: { en: 'Replay and skip failed events', 'zh-CN': '重放和跳过失败事件' },
  },
]
