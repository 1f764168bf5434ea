export { Type } from '@plinth/config-schema/typebox'
export { AddressSet, addressNetwork, normalizeAddress, usualIpv6Prefix } from './caller/address-set.ts'
export type { ClientIpRules } from './caller/client-ip.ts'
export { pageOrigin } from './caller/forwarding.ts'
export * from './contract.ts'
export * from './openapi/document.ts'
export { publishedApi } from './openapi/published.ts'
export * from './pages/browser-page.ts'
export { htmlText } from './pages/browser-page.ts'
export { default } from './plugin.ts'
export * from './routes/declaration.ts'
export { amountSum, figureRoute } from './routes/figure-route.ts'
export { operatorVisibleTo, type Viewer } from './routes/guards.ts'
export { serializedDataOf } from './routes/response-check.ts'
export { operationIdOf } from './routes/route-shape.ts'
export { auditedChange, auditedChanges, plainValue, spoken } from './schemas/audited-facts.ts'
export * from './schemas/common-schemas.ts'
export { ignoreMembers } from './schemas/input-schema.ts'
export {
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  page,
  pageQuery,
  type RangeQuery,
  rangeQuery,
  type SortQuery,
  type SortRule,
  sortQuery,
  spanQuery,
} from './schemas/list.ts'
export { type FilterQuery, filterQuery, isFilterable, printCondition } from './schemas/list-filter.ts'
export { type RowView, viewOf } from './schemas/row-view.ts'
