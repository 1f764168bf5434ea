import type {
  AttentionDeclaration,
  ChartDeclaration,
  Label,
  LabelSource,
  MetricChart,
  PageDeclaration,
  SignInDeclaration,
  TileDeclaration,
  TimelineDeclaration,
} from '@plinth/admin'
import { type Access, type HttpRequest, type HttpServer, Type } from '@plinth/http'
import { assertPermitted, hasAccess, type Principal, requirePrincipal } from '@plinth/iam'
import { type AuditTexts, localize, type Plugin } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import type { PageViewer } from './column-and-field-views.ts'
import { type FrameDocument, frameDocument } from './frames/frame-document.ts'
import { frameView } from './frames/frame-view.ts'
import { type Operation, operationsOf } from './operations.ts'
import { objectPages } from './outcomes.ts'
import { chartOperationOf, chartView, findAttentionProblems, findChartProblems } from './overview.ts'
import { type BuiltInPage, builtInPages, findCustomPageProblems, sourceOf } from './own-pages.ts'
import { findPageProblems, findTimelineProblems } from './page-faults.ts'
import { groupProblems, isInGroup, navigationGroups } from './page-groups.ts'
import { lookupView, pageView } from './page-views.ts'
import { findSignInProblems, signInViews } from './sign-in-ways.ts'
import { hasRange, tileProblems, tileView } from './tiles.ts'
import { placedTimelines, timelineView } from './timelines.ts'

interface PageEntry {
  readonly id: string
  readonly title: string
  readonly kind: AnyPage['kind']
  /** Detail pages that open from this page. */
  readonly details: readonly string[]
  /** Ids of removed pages whose addresses open this page. */
  readonly formerly?: readonly string[]
}

/** A page that a plugin declares, or a custom page of the console. */
type AnyPage = PageDeclaration | BuiltInPage

/** A page that `pageView` describes. */
type ViewedPage = Parameters<typeof pageView>[0]

/** A navigation group with the pages that the user may see. */
interface PageGroupView {
  readonly id: string
  readonly title: string
  /** Icon of a group that a plugin declares. */
  readonly icon?: string
  readonly pages: readonly PageEntry[]
}

interface PageRegistryDependencies {
  readonly http: Pick<HttpServer, 'openapi' | 'routes'>
  /** All plugins of the product, for the help texts of fields. */
  readonly plugins: readonly Pick<Plugin, 'id' | 'messages'>[]
  readonly pages: ReadonlyMap<string, PageDeclaration>
  readonly attention: ReadonlyMap<string, AttentionDeclaration>
  readonly charts: ReadonlyMap<string, ChartDeclaration>
  readonly tiles: ReadonlyMap<string, TileDeclaration>
  readonly timelines: ReadonlyMap<string, TimelineDeclaration>
  /** Audited kinds of objects, which have a timeline on their page. */
  readonly audited: ReadonlyMap<string, AuditTexts>
  readonly labels: ReadonlyMap<string, LabelSource>
  readonly signInWays: ReadonlyMap<string, SignInDeclaration>
  /** Returns whether the product has a metric of this name. */
  readonly hasMetric: (name: string) => boolean
  /** See `PageViewer`. */
  readonly traceLink?: () => string | undefined
}

/** Id of a page, of a chart or of a kind of labels. */
export const word = Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9]+(?:[.-][a-z0-9]+)*$' })

/** Maximum number of ids per request for labels. */
const maxIds = 200

/** The pages of the product, for users who may see them. */
export class PageRegistry {
  readonly #parts: PageRegistryDependencies
  #operations: Promise<ReadonlyMap<string, Operation>> | undefined

  constructor(parts: PageRegistryDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the navigation groups with the pages that the user may see, in navigation order. A user sees a page if they
   * may call its main operation. Pages that are not in the navigation are included.
   */
  async groups(principal: Principal, locale: string): Promise<readonly PageGroupView[]> {
    const operations = await this.#known()
    const seen = [...this.#parts.pages.values(), ...builtInPages].filter((page) =>
      mayCall(principal, operations.get(sourceOf(page, operations))),
    )
    const entry = (page: AnyPage) => ({
      id: page.id,
      kind: page.kind,
      title: localize(page.title, locale),
      details: this.#openedFrom(page),
      ...(page.kind === 'own' || page.formerly === undefined ? {} : { formerly: page.formerly }),
      ...(page.kind === 'own' && page.opens !== undefined ? { opens: page.opens } : {}),
    })
    return this.#groups().flatMap((group) => {
      const own = seen.filter((page) => isInGroup(page, group)).sort((a, b) => orderOf(a) - orderOf(b))
      const { id, icon } = group
      const title = localize(group.title, locale)
      return own.length === 0 ? [] : [{ id, title, ...(icon === undefined ? {} : { icon }), pages: own.map(entry) }]
    })
  }

  /**
   * Returns a page together with its operations and the charts that the user may see.
   * @throws BusinessError "404" `console.page-unknown`; "403" `console.permission-missing` or `iam.scope-all-required`
   *   if the user may not call the main operation of the page
   */
  async page(id: string, principal: Principal, locale: string) {
    const declared = this.#pageOf(id)
    const operations = await this.#known()
    const source = declared && operations.get(sourceOf(declared, operations))
    if (declared === undefined || source === undefined) throw businessError('page-unknown', { params: { id } })
    assertMayAccess(principal, source.access)
    const reader = this.#readerOf(principal, locale, operations)
    if (declared.kind === 'frame') return frameView(declared, operations, reader)
    const view = pageView(this.#withoutAbsent(declared, operations), operations, reader)
    return {
      ...view,
      charts: await this.charts(principal, locale, id),
      tiles: await this.tiles(principal, locale, id),
      timelines: this.#timelines().flatMap((one) => {
        const operation = one.page === id ? operations.get(one.source) : undefined
        return operation === undefined || !reader.can(operation) ? [] : [timelineView(one, operation, reader)]
      }),
    }
  }

  /** Returns whether a page is a list that the user may see. It need not be in the navigation. */
  async hasList(id: string, principal: Principal): Promise<boolean> {
    const page = this.#pageOf(id)
    const operations = await this.#known()
    return page?.kind === 'list' && mayCall(principal, operations.get(sourceOf(page, operations)))
  }

  /**
   * Returns the document of a page in a frame. It is public, because it contains only code of a plugin. Returns
   * `undefined` for an id of no such page.
   */
  frame(id: string): FrameDocument | undefined {
    const page = this.#parts.pages.get(id)
    return page?.kind === 'frame' ? frameDocument(page) : undefined
  }

  /** Returns the lists that the command palette searches for this user, in navigation order. */
  async lookups(principal: Principal, locale: string) {
    const operations = await this.#known()
    const reader = this.#readerOf(principal, locale, operations)
    const canName = (kind: string) => {
      const source = this.#parts.labels.get(kind)
      return source !== undefined && hasAccess(principal, accessOf(source))
    }
    const rankOf = this.#ranks()
    return [...this.#parts.pages.values()]
      .sort((a, b) => rankOf(a) - rankOf(b) || orderOf(a) - orderOf(b))
      .flatMap((page) => {
        const operation = operations.get(page.source)
        if (page.kind !== 'list' || operation === undefined || !reader.can(operation)) return []
        return lookupView(page, operation, reader, canName) ?? []
      })
  }

  /** Returns the charts of a page, or of the overview, that the user may see. */
  async charts(principal: Principal, locale: string, page?: string) {
    const operations = await this.#known()
    return [...this.#parts.charts.values()]
      .filter((chart) => chart.page === page)
      .sort((a, b) => a.order - b.order)
      .flatMap((chart) => {
        const operation = operations.get(chartOperationOf(chart))
        if (operation === undefined || !mayCall(principal, operation)) return []
        return [chartView(chart, operation, locale)]
      })
  }

  /** Returns the tiles of a page, or of the overview, that the user may see. */
  async tiles(principal: Principal, locale: string, page?: string) {
    const operations = await this.#known()
    return [...this.#parts.tiles.values()]
      .filter((tile) => tile.page === page)
      .sort((a, b) => a.order - b.order)
      .flatMap((tile) => {
        const operation = operations.get(tile.source)
        if (operation === undefined || !mayCall(principal, operation)) return []
        const pageOf = (link: NonNullable<TileDeclaration['opens']>) => {
          const target = operations.get(this.#parts.pages.get(link.id)?.source ?? '')
          return this.#pageOf(link.id) !== undefined ? { ...link, hasRange: hasRange(target) } : undefined
        }
        return [tileView(tile, operation, { locale, pageOf })]
      })
  }

  /**
   * Returns the declaration of a measured chart.
   * @throws BusinessError "404" `console.chart-unknown` if no measured chart has this id
   */
  measuredChart(id: string): MetricChart {
    const chart = this.#parts.charts.get(id)
    if (chart?.kind !== 'measured') throw businessError('chart-unknown', { params: { id } })
    return chart
  }

  /**
   * Returns the attention conditions that the user may query, with their operations: those about money first, then the
   * most severe. `mayDecide`: the user sees all cases, and so may decide about them for all operators.
   */
  async attention(principal: Principal, locale: string) {
    const operations = await this.#known()
    const { attention } = this.#parts
    const hinted = new Set([...this.readers.values()].flatMap((ids) => [...ids]))
    const rankOf = this.#ranks()
    const rank = ({ page, tone }: AttentionDeclaration) => {
      const shown = page && this.#pageOf(page.id)
      return [isAboutMoney(shown) ? 0 : 1, tone === 'warn' ? 1 : 0, shown === undefined ? Infinity : rankOf(shown)]
    }
    return [...attention.values()]
      .map((one) => ({ one, rank: rank(one) }))
      .sort((a, b) => compareRanks(a.rank, b.rank))
      .map(({ one }) => one)
      .flatMap(({ title, unattended, source, query = {}, page, oldest, live: _, ...rest }) => {
        const operation = operations.get(source)
        if (operation === undefined || !mayCall(principal, operation)) return []
        const { method, path } = operation
        const shown = page !== undefined && this.#pageOf(page.id) !== undefined ? { page } : {}
        const live = hinted.has(source) ? ('hinted' as const) : ('polled' as const)
        const texts = {
          title: localize(title, locale),
          ...(unattended === undefined ? {} : { unattended: localize(unattended, locale) }),
        }
        const first = oldest && operations.get(oldest.source)
        const since =
          oldest === undefined || first === undefined || !mayCall(principal, first)
            ? {}
            : { oldest: { operation: first.id, method: first.method, path: first.path, query: {}, ...oldest } }
        const mayDecide = seesAll(principal, operation)
        return [{ ...rest, ...shown, ...texts, ...since, operation: source, method, path, query, live, mayDecide }]
      })
  }

  /**
   * Returns labels for ids of one kind, or labels that match a text.
   * @throws BusinessError "404" `console.labels-unknown`; "403" `console.permission-missing`, `iam.scope-all-required`
   */
  async labels(
    kind: string,
    { ids, search = '' }: { readonly ids?: readonly string[] | undefined; readonly search?: string | undefined },
    request: HttpRequest,
  ) {
    const source = this.#parts.labels.get(kind)
    if (source === undefined) throw businessError('labels-unknown', { params: { kind } })
    assertMayAccess(requirePrincipal(request), accessOf(source))
    const found = await (ids === undefined
      ? source.search(search, request)
      : source.byIds(ids.slice(0, maxIds), request))
    return this.#withOwners(found, request)
  }

  /** Adds the names of the owners to the names, as far as the caller may see them. */
  async #withOwners(found: readonly Label[], request: HttpRequest): Promise<readonly Label[]> {
    const names = new Map<string, string>()
    for (const [kind, labels] of Map.groupBy(found, ({ owner }) => owner?.labels)) {
      const source = this.#parts.labels.get(kind ?? '')
      if (source === undefined || !hasAccess(requirePrincipal(request), accessOf(source))) continue
      const ids = new Set(labels.flatMap(({ owner }) => owner?.id ?? []))
      for (const { id, name } of await source.byIds([...ids], request)) names.set(`${kind} ${id}`, name)
    }
    return found.map(({ id, name, owner }) => {
      const own = owner && names.get(`${owner.labels} ${owner.id}`)
      return { id, name: own === undefined ? name : `${own} · ${name}` }
    })
  }

  /**
   * Returns the sign-in methods other than name and password, with their operations. The result is public, because the
   * user is not signed in yet.
   */
  async signInWays() {
    return signInViews(this.#parts.signInWays.values(), await this.#known())
  }

  /** Returns the ids of the operations that read each table, according to the pages. */
  get readers(): ReadonlyMap<string, ReadonlySet<string>> {
    const lives = [...this.#parts.pages.values()].map(
      (page) => [page.source, page.kind === 'frame' ? undefined : page.live] as const,
    )
    const counted = [...this.#parts.attention.values()].map(({ source, live }) => [source, live] as const)
    // A tile counts the rows of its page.
    const tiled = [...this.#parts.tiles.values()].map(({ source, page = '' }) => {
      const shown = this.#parts.pages.get(page)
      return [source, shown === undefined || shown.kind === 'frame' ? undefined : shown.live] as const
    })
    const own = builtInPages.flatMap(({ live = {} }) => Object.entries(live))
    const readers = new Map<string, Set<string>>()
    for (const [operation, tables] of [...lives, ...counted, ...tiled, ...own]) {
      if (typeof tables !== 'object') continue
      for (const table of tables) readers.set(table, (readers.get(table) ?? new Set()).add(operation))
    }
    return readers
  }

  /** Returns those of the given operations that the user may call. */
  async callable(ids: Iterable<string>, principal: Principal): Promise<readonly string[]> {
    const operations = await this.#known()
    return [...ids].filter((id) => mayCall(principal, operations.get(id)))
  }

  /** Returns the problems of all pages. Each problem is one sentence. */
  async faults(): Promise<readonly string[]> {
    const { pages, attention, charts, tiles, labels, signInWays, hasMetric } = this.#parts
    const operations = await this.#known()
    return [
      ...groupProblems(pages.values()),
      ...findPageProblems(pages.values(), operations, labels),
      ...findAttentionProblems(attention.values(), operations, pages),
      ...findChartProblems(charts.values(), { operations, pages, hasMetric }),
      ...tileProblems(tiles.values(), operations, pages),
      ...findTimelineProblems(this.#timelines(), operations, pages, labels),
      ...findCustomPageProblems(operations, pages),
      ...findSignInProblems(signInWays.values(), operations),
    ]
  }

  /** Removes the optional related lists, actions and forms whose plugin is not loaded. */
  #withoutAbsent(page: ViewedPage, operations: ReadonlyMap<string, Operation>): ViewedPage {
    const isLoaded = ({ optional, operation }: { readonly optional?: boolean; readonly operation: string }) =>
      !optional || operations.has(operation)
    if (page.kind === 'list') {
      const { actions = [], forms = [], create, ...rest } = page
      const own = create === undefined || !isLoaded(create) ? {} : { create }
      return { ...rest, ...own, actions: actions.filter(isLoaded), forms: forms.filter(isLoaded) }
    }
    if (page.kind !== 'detail') return page
    const { actions = [], related = [], form, ...rest } = page
    const own = form === undefined || !isLoaded(form) ? {} : { form }
    const lists = related.filter(({ page: id, optional }) => !optional || this.#pageOf(id) !== undefined)
    return { ...rest, ...own, actions: actions.filter(isLoaded), related: lists }
  }

  #readerOf(principal: Principal, locale: string, operations: ReadonlyMap<string, Operation>): PageViewer {
    return {
      locale,
      can: (operation) => mayCall(principal, operation),
      sees: (page) => mayCall(principal, operations.get(sourceOf(page, operations))),
      page: (id) => this.#pageOf(id),
      created: objectPages(this.#parts.pages.values(), operations),
      hasLabels: (kind) => this.#parts.labels.has(kind),
      traceLink: () => this.#parts.traceLink?.(),
    }
  }

  /** Returns the pages that open from a page and have no place of their own. They belong to the place of the page. */
  #openedFrom(page: AnyPage): readonly string[] {
    if (page.kind !== 'list' && page.kind !== 'detail') return []
    const opened =
      page.kind === 'list'
        ? [...(page.detail === undefined ? [] : [page.detail]), ...(page.links ?? []).map((link) => link.page)]
        : (page.related ?? []).map((related) => related.page)
    return opened.flatMap((id) => {
      const target = this.#parts.pages.get(id)
      if (target === undefined || target.place !== undefined || target.id === page.id) return []
      return [id, ...(target.kind === 'list' && target.detail !== undefined ? [target.detail] : [])]
    })
  }

  #timelines() {
    return placedTimelines(this.#parts.timelines.values(), this.#parts.audited)
  }

  #groups() {
    return navigationGroups([...this.#parts.pages.values(), ...builtInPages])
  }

  /** Returns a function for the position of a page's group. Pages that are not in the navigation come last. */
  #ranks(): (page: AnyPage) => number {
    const groups = this.#groups()
    return (page) => {
      const rank = groups.findIndex((group) => isInGroup(page, group))
      return rank === -1 ? groups.length : rank
    }
  }

  #pageOf(id: string): AnyPage | undefined {
    return this.#parts.pages.get(id) ?? builtInPages.find((page) => page.id === id)
  }

  /** The operations are cached, because routes do not change after the start. */
  #known(): Promise<ReadonlyMap<string, Operation>> {
    this.#operations ??= operationsOf(this.#parts.http, this.#parts.plugins)
    return this.#operations
  }
}

/** Groups of the product whose pages are about money. */
const moneyGroups: readonly unknown[] = ['orders', 'points', 'ledger']
const isAboutMoney = (page: AnyPage | undefined) => moneyGroups.includes(page?.place?.group)

const compareRanks = (a: readonly number[], b: readonly number[]): number => {
  const index = a.findIndex((value, at) => value !== b[at])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}

const orderOf = ({ place }: AnyPage) => place?.order ?? 0

function mayCall(principal: Principal, operation: Operation | undefined): boolean {
  if (operation === undefined) return false
  return hasAccess(principal, operation.access)
}

/** Returns whether the operation returns the same to the user as to others, and not only a data scope. */
const seesAll = ({ dataScope }: Principal, { access }: Operation): boolean =>
  dataScope === 'all' || typeof access === 'string' || access.scope !== 'caller'

const accessOf = ({ permission, scope }: LabelSource): Access =>
  permission === undefined ? 'user' : { permission, scope }

function assertMayAccess(principal: Principal, access: Access): void {
  if (typeof access === 'string') return
  const { permission } = access
  if (!principal.can(permission))
    throw businessError('permission-missing', { params: { permission }, data: { permission } })
  assertPermitted(access, principal)
}
