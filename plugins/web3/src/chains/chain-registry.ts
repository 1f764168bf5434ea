import { hash } from 'node:crypto'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { filterLabels, type LabelSource } from '@plinth/admin'
import { type Database, versionConflictData } from '@plinth/database'
import type { Operator } from '@plinth/iam'
import {
  type AuditSummary,
  auditFieldsOfCaller,
  type BusinessError,
  type Clock,
  type Kernel,
  omitUndefined,
  writeAuditEntry,
} from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp } from '@plinth/outgoing-http'
import type { PluginEncryption, SealedText } from '@plinth/system-config'
import type { Chain, ChainUse, Finality } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import type { ChainSource } from './chain-facts.ts'
import { ChainRow, type StoredRpcProvider } from './entities.ts'
import { endpointWithoutSecrets, isExplorerUrl, type OpenedChain } from './provider-pool.ts'

/** A provider in a request. If `url` is omitted, the stored URL remains. */
interface GivenProvider {
  readonly id: string
  readonly url?: string
}

/** Values of a chain that may change. Its name and number never change, because settlements refer to them. */
interface ChainContent {
  readonly enabled: boolean
  readonly requiredConfirmations: number | null
  readonly finality: Finality
  readonly maxHeadLagBlocks: number
  readonly explorerTransactionUrl: string | null
  readonly providers: readonly GivenProvider[]
}

interface RegistryDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly http: Pick<OutgoingHttp, 'check'>
  /** Finds the plugin that writes the audit of changes. */
  readonly kernel: Pick<Kernel, 'contributions'>
  /** Returns the chain whose contract wallets may log in; empty for none. */
  readonly contractWalletChain: () => string
  /** Parts of the product that act on the facts of chains. */
  readonly uses: ReadonlyMap<string, ChainUse>
}

const maxChains = 100

/**
 * Stores chains. They can be disabled, but not deleted: a deleted chain could be created again under another name, and
 * its transfers would count twice.
 */
export class ChainRegistry implements ChainSource {
  readonly #parts: RegistryDependencies

  constructor(parts: RegistryDependencies) {
    this.#parts = parts
  }

  async list(): Promise<readonly Chain[]> {
    return (await this.rows()).map(chainWithSettings)
  }

  async rows(): Promise<readonly ChainRow[]> {
    return this.#parts.db.fork().find(ChainRow, {}, { orderBy: { name: 'asc' }, limit: maxChains })
  }

  async get(name: string): Promise<Chain | undefined> {
    const row = await this.#parts.db.fork().findOne(ChainRow, { name })
    return row === null ? undefined : chainWithSettings(row)
  }

  async open(name: string): Promise<OpenedChain | undefined> {
    const row = await this.#parts.db.fork().findOne(ChainRow, { name })
    return row === null ? undefined : this.opened(row)
  }

  opened(row: ChainRow): OpenedChain {
    const providers = row.providers.map(({ id, urlEnc }) => ({
      id,
      key: urlEnc,
      url: () => this.#parts.box.open(purposeOf(row.name, id), urlEnc),
    }))
    return { ...chainOf(row), providers }
  }

  /** Yields the URLs of all providers. */
  async *sealedTexts(): AsyncGenerator<SealedText> {
    for (const { name, providers } of await this.rows()) {
      for (const { id, urlEnc: sealed } of providers) {
        yield { row: `provider ${id} of chain ${name}`, purpose: purposeOf(name, id), sealed }
      }
    }
  }

  /** @throws BusinessError "404" `web3.chain-unknown` */
  async row(id: number): Promise<ChainRow> {
    const row = await this.#parts.db.fork().findOne(ChainRow, { id })
    if (row === null) throw businessError('chain-unknown')
    return row
  }

  /**
   * @throws BusinessError "409" `web3.chain-taken`, `web3.chains-too-many`; "400" `web3.provider-url-refused`,
   *   `web3.provider-url-missing`, `web3.provider-url-twice`, `web3.provider-id-twice`, `web3.explorer-url-invalid`;
   *   "403" `web3.contract-wallets-protected`, `web3.chain-protected` if the operator lacks the permission for the chain
   *   of contract wallets, or for a chain that another part of the product uses
   */
  async create(name: string, chainId: number, content: ChainContent, operator: Operator): Promise<ChainRow> {
    this.#assertMayDecideAboutContracts(name, operator)
    this.#assertMayDecideAboutFacts([{ name, chainId, ...content }], operator)
    this.#check(content, [])
    await this.#assertDistinct(name, content.providers, [])
    const providers = await this.#sealed(name, content.providers, [])
    const { db, clock } = this.#parts
    if ((await db.fork().count(ChainRow)) >= maxChains)
      throw businessError('chains-too-many', { params: { most: maxChains } })
    const now = new Date(clock.now())
    try {
      return await db.transactional(async (em) => {
        const row = em.create(ChainRow, {
          id: db.newId(),
          name,
          chainId,
          ...content,
          providers,
          version: 1,
          createdAt: now,
          updatedAt: now,
          updatedBy: operator.principal.username,
        })
        await em.flush()
        await this.#record(operator, 'create', row, { chainId, ...summaryOf(content) })
        return row
      })
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException) throw businessError('chain-taken', { cause: error })
      throw error
    }
  }

  /**
   * Changes a chain.
   *
   * @param version version that the operator edited; default: the current one
   * @throws BusinessError "404" `web3.chain-unknown`, "409" `web3.version-conflict`, and the errors of `create`
   */
  async update(
    id: number,
    change: Partial<ChainContent>,
    version: number | undefined,
    operator: Operator,
  ): Promise<ChainRow> {
    const row = await this.row(id)
    if (version !== undefined && version !== row.version) throw conflict(row)
    const isEnabled = change.enabled === true && !row.enabled
    const hasOtherProviders = changesProviders(change, row)
    if (isEnabled || hasOtherProviders) this.#assertMayDecideAboutContracts(row.name, operator)
    const before = chainOf(row)
    const after = { ...before, ...change }
    if (isEnabled || hasOtherProviders || factRules.some((rule) => before[rule] !== after[rule])) {
      this.#assertMayDecideAboutFacts([before, after], operator)
    }
    this.#check(change, row.providers)
    const { providers: given, ...rest } = change
    if (given !== undefined) await this.#assertDistinct(row.name, given, row.providers)
    const providers = given === undefined ? {} : { providers: await this.#sealed(row.name, given, row.providers) }
    const { db, clock } = this.#parts
    const about = { version: row.version + 1, updatedAt: new Date(clock.now()), updatedBy: operator.principal.username }
    await db.transactional(async (em) => {
      const written = await em.nativeUpdate(ChainRow, { id, version: row.version }, { ...rest, ...providers, ...about })
      if (written === 0) throw conflict(await this.row(id))
      await this.#record(operator, 'update', row, summaryOf(change))
    })
    return this.row(id)
  }

  /**
   * The providers of this chain decide about logins with contract wallets. Choosing them needs a separate permission.
   */
  #assertMayDecideAboutContracts(name: string, { principal }: Operator): void {
    const permission = permissionCodes.contractWalletsSave
    if (name !== this.#parts.contractWalletChain() || principal.can(permission)) return
    throw businessError('contract-wallets-protected', { params: { permission }, data: { permission } })
  }

  /** @param states the chain before and after the change; a change that ends or starts a use needs the permission too */
  #assertMayDecideAboutFacts(states: readonly Chain[], { principal }: Operator): void {
    for (const { permission, uses } of this.#parts.uses.values()) {
      if (principal.can(permission) || !states.some((chain) => uses(chain))) continue
      throw businessError('chain-protected', { params: { permission }, data: { permission } })
    }
  }

  #check({ providers, explorerTransactionUrl }: Partial<ChainContent>, stored: readonly StoredRpcProvider[]): void {
    if (explorerTransactionUrl != null && !isExplorerUrl(explorerTransactionUrl)) {
      throw businessError('explorer-url-invalid', { data: { field: 'explorerTransactionUrl' } })
    }
    for (const [at, { id, url }] of (providers ?? []).entries()) {
      const field = `providers/${at}/url`
      if (url === undefined && !stored.some((one) => one.id === id))
        throw businessError('provider-url-missing', { data: { field } })
      if (providers?.some((other, index) => index < at && other.id === id)) {
        throw businessError('provider-id-twice', { data: { field: `providers/${at}/id` } })
      }
      if (url !== undefined) this.#assertReachable(url, field)
    }
  }

  #assertReachable(url: string, field: string): void {
    try {
      this.#parts.http.check(url)
    } catch (error) {
      if (!isOutgoingHttpError(error)) throw error
      throw businessError('provider-url-refused', { params: { rule: error.code }, data: { field, rule: error.code } })
    }
  }

  /** Rejects two providers with the same URL, because they are one server, which always agrees with itself. */
  async #assertDistinct(
    name: string,
    given: readonly GivenProvider[],
    stored: readonly StoredRpcProvider[],
  ): Promise<void> {
    const used = new Set<string>()
    for (const [at, { id, url }] of given.entries()) {
      const kept = stored.find((one) => one.id === id)?.urlEnc
      // A URL that cannot be decrypted is never used, so its provider confirms nothing.
      const opened =
        url ??
        (kept === undefined ? undefined : await this.#parts.box.open(purposeOf(name, id), kept).catch(() => undefined))
      if (opened === undefined) continue
      const endpoint = endpointWithoutSecrets(opened)
      if (used.has(endpoint)) {
        throw businessError('provider-url-twice', { data: { field: `providers/${at}/url`, rule: 'distinct' } })
      }
      used.add(endpoint)
    }
  }

  /**
   * Encrypts the URLs. It runs outside a transaction, because the first URL creates an encryption key that is stored
   * elsewhere.
   */
  async #sealed(
    name: string,
    given: readonly GivenProvider[],
    stored: readonly StoredRpcProvider[],
  ): Promise<readonly StoredRpcProvider[]> {
    const sealed: StoredRpcProvider[] = []
    for (const { id, url } of given) {
      const kept = stored.find((one) => one.id === id)
      const urlEnc = url === undefined ? kept?.urlEnc : await this.#parts.box.seal(purposeOf(name, id), url)
      if (urlEnc !== undefined) sealed.push({ id, urlEnc })
    }
    return sealed
  }

  #record(operator: Operator, verb: string, { id, name }: ChainRow, summary: AuditSummary): Promise<void> {
    const entry = {
      ...auditFieldsOfCaller(operator),
      action: `web3-chain.${verb}`,
      subject: id,
      summary: { name, ...summary },
    }
    return writeAuditEntry(this.#parts.kernel, entry)
  }
}

/** Purpose that ties an encrypted URL to its chain and provider, so that the URL cannot be decrypted in another row. */
const purposeOf = (chain: string, provider: string) => `web3-rpc:${chain}:${provider}`

export function chainOf(row: ChainRow): Chain {
  const { name, chainId, enabled, finality, maxHeadLagBlocks } = row
  return {
    name,
    chainId,
    enabled,
    finality,
    maxHeadLagBlocks,
    requiredConfirmations: row.requiredConfirmations ?? null,
    explorerTransactionUrl: shownExplorer(row.explorerTransactionUrl ?? null),
    providers: row.providers.map(({ id }) => ({ id })),
  }
}

/** Adds what other parts of the product need in order to notice that the settings of a chain have changed. */
function chainWithSettings(row: ChainRow): Chain {
  const { requiredConfirmations = null, finality, maxHeadLagBlocks } = row
  const providers = row.providers.map(({ id, urlEnc }) => [id, urlEnc])
  const settings = JSON.stringify([requiredConfirmations, finality, maxHeadLagBlocks, providers])
  return { ...chainOf(row), settingsDigest: hash('sha256', settings), updatedAt: row.updatedAt.getTime() }
}

/** Leaves out a stored URL that is invalid now. Earlier releases accepted such URLs. */
const shownExplorer = (url: string | null) => (url !== null && isExplorerUrl(url) ? url : null)

const conflict = (row: ChainRow): BusinessError => businessError('version-conflict', { data: versionConflictData(row) })

/** Values of a chain that decide which facts count. */
const factRules = ['requiredConfirmations', 'finality', 'maxHeadLagBlocks'] as const

/** True if providers are added, removed, reordered or replaced. */
const changesProviders = ({ providers }: Partial<ChainContent>, row: ChainRow): boolean =>
  providers !== undefined &&
  (providers.length !== row.providers.length ||
    providers.some(({ id, url }, at) => url !== undefined || id !== row.providers[at]?.id))

/** Summary of a change for the audit: the ids of the providers and which of them got a new URL, but never a URL. */
function summaryOf({ providers, ...content }: Partial<ChainContent>): AuditSummary {
  const given = providers?.filter(({ url }) => url !== undefined).map(({ id }) => id)
  const named = providers === undefined ? {} : { providers: providers.map(({ id }) => id), addressesSet: given }
  return omitUndefined<AuditSummary>({ ...content, ...named })
}

/** Labels of chains. The id of a label is the name of the chain, because orders and logs contain it. */
export function chainLabels(registry: Pick<ChainRegistry, 'list'>): LabelSource {
  const labels = async () =>
    (await registry.list()).map(({ name, chainId }) => ({ id: name, name: `${name} (${chainId})` }))
  return {
    permission: permissionCodes.chainView,
    scope: 'none',
    byIds: async (ids) => (await labels()).filter(({ id }) => ids.includes(id)),
    search: async (text) => filterLabels(await labels(), text),
  }
}
