import { PlinthError } from '@plinth/kernel'

/** Every programming error that this plugin finds: what happened, and what to do about it. `{name}` marks a detail. */
export const eventsErrors = {
  PLINTH_EVENTS_HANDLER_TAKEN: {
    text: 'Event "{event}" has a handler named "{handler}" already.',
    fix: 'Name each handler of an event differently, beginning with the id of its plugin.',
  },
  PLINTH_EVENTS_HANDLER_NAME: {
    text: '"{handler}" cannot name a handler.',
    fix: 'Use 1 to 128 characters: a-z, 0-9, dots and hyphens.',
  },
  PLINTH_EVENTS_PAYLOAD: {
    text: 'The payload of "{event}" does not fit: {reason}.',
    fix: 'Hand over what the schema of the event describes, in values that JSON can carry, at most 1 MiB.',
  },
  PLINTH_EVENTS_KEY: {
    text: 'An event "{event}" was published under a key that cannot be one.',
    fix: 'Use 1 to 200 characters without control characters.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type EventsErrorCode = keyof typeof eventsErrors

export function eventsError(
  code: EventsErrorCode,
  details: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): PlinthError {
  const { text, fix } = eventsErrors[code]
  const message = text.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  return new PlinthError(code, message, fix, { cause })
}
