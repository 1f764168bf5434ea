/**
 * Tools for API descriptions: breaking changes, a typed client, and the types of operations for pages.
 *
 * @module
 */

export { clientModule } from './client-types.ts'
export { breakingChanges } from './openapi-changes.ts'
export { operationTypes } from './operation-types.ts'
