import type { Access } from './declaration.ts'

const literal = '[a-z0-9]+(?:-[a-z0-9]+)*'
const parameter = ':[a-z][A-Za-z0-9]*'
const apiPath = new RegExp(`^/api/v[1-9]\\d*/(?:admin/)?${literal}(?:/(?:${literal}|${parameter}))*(?:/\\*)?$`)
const adminPath = /^\/api\/v\d+\/admin\//
const misplacedAdmin = /^\/api\/v\d+\/.+\/admin(?:\/|$)/

/**
 * What is wrong with the path of an API route, or `undefined` (C-025 to C-027): the major version first, then the domain;
 * admin routes under `/api/v{major}/admin/{domain}`; segments in kebab-case, parameters in camelCase.
 *
 * @param legacyPath see `RouteDeclaration.legacyPath`
 */
export function pathFault(path: string, access: Access, legacyPath = false): string | undefined {
  if (!apiPath.test(path) || /^\/api\/v\d+\/admin$/.test(path)) {
    return 'is not /api/v{major}/{domain}/... or /api/v{major}/admin/{domain}/... with kebab-case segments and camelCase parameters'
  }
  if (misplacedAdmin.test(path)) return 'has "admin" behind the domain; it belongs right behind the version'
  const isAdmin = adminPath.test(path)
  if (isAdmin && access === 'public') return 'is an admin path that anybody may call'
  if (isAdmin && access === 'signed') return 'is an admin path, and those who sign are no administrators'
  const isMisplaced = !isAdmin && typeof access === 'object'
  if (isMisplaced && !legacyPath) return 'needs a permission, so it belongs under /api/v{major}/admin/{domain}/'
  if (!isMisplaced && legacyPath) return 'has "legacyPath" although its path follows the rule'
  return undefined
}

/** Two patterns that match the same addresses have the same shape: parameter names do not matter. */
export function pathShape(path: string): string {
  return path.replace(/:[^/]+/g, ':')
}

/** Name of an operation that has none of its own: `GET /api/v1/shop/items/:id` is `getShopItemsById`; v2 and later say so. */
export function operationIdOf(method: string, path: string): string {
  const words = path
    .replace(/^\/api\/v1\//, '')
    .split('/')
    .filter(Boolean)
    .map((segment) => segment.replace(/^:/, 'by-').replace(/^\*$/, 'by-wildcard'))
    .flatMap((segment) => segment.split(/[^A-Za-z0-9]+/))
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
