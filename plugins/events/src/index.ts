export * from './contract.ts'
export { type EventsErrorCode, eventsErrors } from './errors.ts'
export * from './neutral-events.ts'
export { default } from './plugin.ts'
