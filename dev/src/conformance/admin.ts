/** Conformance kit for back office pages: what an operator sees, as test cases. Needs no test runner. */

import type { DetailPageDeclaration, ListPageDeclaration, PageDeclaration } from '@plinth/admin'
import { type LocalizedText, localize } from '@plinth/kernel'
import {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
  expectThat,
} from './index.ts'

type Awaitable<T> = T | Promise<T>
type Headers = Readonly<Record<string, string>>
type Values = Readonly<Record<string, unknown>>

/** The HTTP server of a running product: `running.service(http)`. */
export interface PageServer {
  readonly routes: readonly { readonly operationId: string; readonly method: string; readonly path: string }[]
  inject(request: {
    readonly method: string
    readonly url: string
    readonly headers: Headers
    readonly payload?: object
  }): Promise<{ readonly statusCode: number; readonly body: string }>
}

export interface AdminPageHarness {
  /** The pages under test by id, for example those of `running.contributions(adminPages)` that belong to the plugin. */
  readonly pages: ReadonlyMap<string, PageDeclaration>
  readonly server: PageServer
  /** Headers of an administrator. */
  readonly administrator: Headers
  /** Headers of a signed-in user without roles. */
  readonly stranger: Headers
  stop?(): Awaitable<void>
}

export interface AdminPageCaseOptions extends ConformanceLimits {
  /** False if the lists may be empty, so that cases about rows prove nothing. Default: true. */
  readonly hasRows?: boolean
}

interface Reply {
  /** Code of the envelope; the HTTP status if there is no envelope. */
  readonly code: string
  readonly data: unknown
}

/** Search text that no row contains. */
const nonsense = 'zzqxv-conformance'

const isOptional = (write: object) => 'optional' in write && write.optional === true

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((found, name) => (found as Values | null | undefined)?.[name], value)

/** Returns all operations that a page calls to change something, without those of optional plugins. */
const writesOf = (page: PageDeclaration): readonly string[] => {
  if (page.kind === 'frame') return (page.writes ?? []).map(({ operation }) => operation)
  const forms = page.kind === 'list' ? [page.create, ...(page.forms ?? [])] : [page.form]
  const bulk = page.kind === 'list' ? (page.bulk ?? []) : []
  return [...forms, ...(page.actions ?? []), ...bulk].flatMap((write) =>
    write === undefined || isOptional(write) ? [] : write.operation,
  )
}

/** Returns all texts of a declaration with their place. Texts are objects with the member `en`, or plain texts. */
function textsIn(value: unknown, place: string): readonly (readonly [place: string, text: LocalizedText])[] {
  if (typeof value !== 'object' || value === null) return []
  if ('en' in value) return [[place, value as LocalizedText]]
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, `${place}.${name}`))
}

/**
 * Returns the rules of back office pages as cases. The product itself checks the declarations at its start; these cases
 * check them with stored rows and other callers.
 *
 * @param create returns a running product with at least two rows in each list
 */
export function adminPageCases<Harness extends AdminPageHarness>(
  create: () => Awaitable<Harness>,
  options: AdminPageCaseOptions = {},
): ConformanceCase[] {
  const { hasRows = true } = options
  const { answer } = createCallTimeouts(options)

  const routeOf = ({ server }: Harness, operation: string) => {
    const route = server.routes.find(({ operationId }) => operationId === operation)
    if (route === undefined)
      throw new ConformanceError('A page uses operations of the product', operation, 'no such operation')
    return route
  }
  const call = async (
    harness: Harness,
    operation: string,
    {
      params = {},
      query = {},
      headers = harness.administrator,
    }: { params?: Values; query?: Values; headers?: Headers } = {},
  ): Promise<Reply> => {
    const { method, path } = routeOf(harness, operation)
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '1')))
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const url = search.size === 0 ? filled : `${filled}?${search}`
    const request = { method, url, headers, ...(method === 'GET' || method === 'DELETE' ? {} : { payload: {} }) }
    const { statusCode, body } = await answer(operation, () => harness.server.inject(request))
    const envelope: { readonly code?: string; readonly data?: unknown } = /^\{/.test(body) ? JSON.parse(body) : {}
    return { code: envelope.code ?? String(statusCode), data: envelope.data }
  }
  const lists = ({ pages }: Harness) =>
    [...pages.values()].filter((page): page is ListPageDeclaration => page.kind === 'list')
  /** Lists whose operation needs no value from another page. */
  const openLists = (harness: Harness) =>
    lists(harness).filter(({ source }) => !routeOf(harness, source).path.includes(':'))
  const rowsOf = async (
    harness: Harness,
    page: ListPageDeclaration,
    query: Values = {},
  ): Promise<readonly Values[]> => {
    const { code, data } = await call(harness, page.source, { query })
    expectEqual(`The page "${page.id}" can be read`, code, '200')
    const rows = Array.isArray(data) ? data : memberAt(data, 'items')
    expectThat(`The page "${page.id}" returns a list`, Array.isArray(rows), 'items', data)
    return rows as readonly Values[]
  }

  const cases: CaseBodies<Harness> = {
    'texts are in both languages': [
      'Write each text as { en, "zh-CN" }.',
      ({ pages }) => {
        for (const page of pages.values()) {
          for (const [place, text] of textsIn(page, page.id)) {
            const both = ['en', 'zh-CN'].map((locale) => localize(text, locale).trim())
            expectThat(
              `${place} is in English and Chinese`,
              both.every((one) => one !== ''),
              'two texts',
              text,
            )
            const isTranslated = typeof text === 'string' || (text as Values)['zh-CN'] !== undefined
            expectThat(`${place} is in English and Chinese`, isTranslated, 'two texts', text)
          }
        }
      },
    ],

    'lists show rows with values': [
      'Return "items", a list in which each shown member has a value in at least one row.',
      async (harness) => {
        for (const page of openLists(harness)) {
          const rows = await rowsOf(harness, page)
          if (!hasRows) continue
          expectThat(`The harness has rows for "${page.id}"`, rows.length >= 2, 'two rows', rows.length)
          for (const { field } of page.columns) {
            const isShown = rows.some((row) => memberAt(row, field) !== undefined)
            expectThat(`"${field}" of "${page.id}" has a value in a row`, isShown, 'a value', rows[0])
          }
        }
      },
    ],

    'the key identifies a row': [
      'Use the id of the row as key.',
      async (harness) => {
        for (const page of openLists(harness)) {
          const keys = (await rowsOf(harness, page)).map((row) => memberAt(row, page.key))
          const isKey = keys.every((key) => typeof key === 'string' || typeof key === 'number')
          expectThat(`The key of "${page.id}" is a text or a number`, isKey, 'an id', keys)
          expectEqual(`Each row of "${page.id}" has another key`, keys, [...new Set(keys)])
        }
      },
    ],

    'a row opens its own page': [
      'Return the object of the row from the operation of the detail page, and "404" for an unknown id.',
      async (harness) => {
        for (const page of openLists(harness)) {
          const detail = harness.pages.get(page.detail ?? '') as DetailPageDeclaration | undefined
          if (detail?.param === undefined) continue
          for (const row of (await rowsOf(harness, page)).slice(0, 3)) {
            const { code, data } = await call(harness, detail.source, {
              params: { [detail.param]: memberAt(row, page.key) },
            })
            expectEqual(`A row of "${page.id}" opens "${detail.id}"`, code, '200')
            if (detail.name === undefined) continue
            const name = memberAt(data, detail.name)
            expectThat(`"${detail.id}" has a name`, name !== undefined && name !== null && name !== '', 'a name', name)
            const known = memberAt(row, detail.name)
            if (known !== undefined) expectEqual(`"${detail.id}" shows the row that was opened`, name, known)
          }
          const unknown = await call(harness, detail.source, { params: { [detail.param]: '987654321987' } })
          expectThat(
            `An unknown id of "${detail.id}" is not found`,
            ['404', '400'].includes(unknown.code),
            '404',
            unknown.code,
          )
        }
      },
    ],

    'search, filters and order change the list': [
      'Apply each declared parameter in the query, before the rows are counted and cut into pages.',
      async (harness) => {
        for (const page of openLists(harness)) {
          if (page.search !== undefined) {
            const found = await rowsOf(harness, page, { [page.search]: nonsense })
            expectEqual(`The search of "${page.id}" finds nothing for a text that no row contains`, found, [])
          }
          if (page.sort === undefined) continue
          const sort = page.sort.replace(/^-/, '')
          const keysBy = async (order: string) =>
            (await rowsOf(harness, page, { sort: order })).map((row) => memberAt(row, page.key))
          const [up, down] = [await keysBy(sort), await keysBy(`-${sort}`)]
          const isPaged = up.length !== down.length || [...up].sort().join() !== [...down].sort().join()
          if (!isPaged && up.length > 1)
            expectThat(`The order of "${page.id}" can be reversed`, up.join() !== down.join(), 'another order', up)
        }
      },
    ],

    'only callers with the permission see and change it': [
      'Declare access: { permission, scope } on each route of the page.',
      async (harness) => {
        for (const page of harness.pages.values()) {
          const reads = page.kind === 'frame' ? (page.reads ?? []) : []
          for (const operation of new Set([page.source, ...reads, ...writesOf(page)])) {
            const rejected = async (headers: Headers) => (await call(harness, operation, { headers })).code
            expectEqual(`${operation} of "${page.id}" rejects a caller who is not signed in`, await rejected({}), '401')
            // Only paths below `/admin/` are checked. Other operations may belong to every user, for example those of
            // the user's own account.
            if (!/^\/api\/v\d+\/admin\//.test(routeOf(harness, operation).path)) continue
            expectEqual(
              `${operation} of "${page.id}" rejects a user without roles`,
              await rejected(harness.stranger),
              '403',
            )
          }
        }
      },
    ],

    'a deletion asks first': [
      'Add "confirm" with a question to each action whose operation deletes.',
      (harness) => {
        for (const page of harness.pages.values()) {
          // The back office asks before each write of a frame.
          if (page.kind === 'frame') continue
          const bulk = page.kind === 'list' ? (page.bulk ?? []) : []
          for (const { operation, confirm, ...write } of [...(page.actions ?? []), ...bulk]) {
            if (isOptional(write)) continue
            const deletes = routeOf(harness, operation).method === 'DELETE'
            expectThat(
              `${operation} of "${page.id}" asks before it deletes`,
              !deletes || confirm !== undefined,
              'confirm',
              confirm,
            )
          }
        }
      },
    ],
  }
  return createCases(create, cases, options)
}
