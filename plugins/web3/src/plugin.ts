import { backOffice, labelSources } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { auditTexts, dataCheck, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { openScopes } from '@plinth/open-platform'
import { outgoingHttp } from '@plinth/outgoing-http'
import { configCentre, createSealedTextCheck, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { pages } from './admin-pages.ts'
import { ChainFactCollector } from './chains/chain-facts.ts'
import { ChainRegistry, chainLabels } from './chains/chain-registry.ts'
import { chainRoutes } from './chains/chain-routes.ts'
import { chainTables, entities } from './chains/entities.ts'
import { TokenFacts } from './chains/token-facts.ts'
import { keys, secretKeyName } from './config.ts'
import { chains, chainUse, tokens, walletVerifier } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { createChains } from './migrations/0001-create-chains.ts'
import { openRoutes, scopes } from './open-routes.ts'
import { ContractWallets } from './signatures/contract-wallets.ts'
import { bestBackend } from './signatures/recovery.ts'
import { createWalletVerifier } from './signatures/wallet-verifier.ts'

export default definePlugin({
  id: 'web3',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { kernel, database, http, outgoingHttp, configCentre, openScopes: optional(openScopes) },
  provides: [walletVerifier, chains, tokens],
  extensionPoints: [chainUse],
  contributes: [
    auditTexts.of(audited),
    dataCheck,
    personalData.of(({ database }: WithDatabase) => ({ web3: chainTables(database) })),
    ...backOffice({ pages }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { web3: { en: 'Chains and tokens', 'zh-CN': '链与代币' } },
  entities,
  migrations: [createChains],
  permissions,
  messages,
  async setup({ plugin: { id: plugin }, services, config, log, provide, contribute, contributions }) {
    const { kernel, database: db, http: server, outgoingHttp, configCentre: centre, openScopes } = services
    const { clock } = db
    const stored = () => config.get(secretKeyName)
    const box = new PluginEncryption(new PluginEncryptionKey({ plugin, name: secretKeyName, centre, stored }))
    const chainName = () => config.get('platform.web3.contract-wallets.chain')
    const parts = {
      db,
      clock,
      box,
      http: outgoingHttp,
      kernel,
      contractWalletChain: chainName,
      uses: contributions(chainUse),
    }
    const registry = new ChainRegistry(parts)
    contribute(
      dataCheck,
      'web3.secrets',
      createSealedTextCheck(box, () => registry.sealedTexts()),
    )
    const settings = () => ({
      deadlineMs: config.get('platform.web3.rpc.deadline'),
      batchSize: config.get('platform.web3.rpc.batch-size'),
      maxResponseBytes: config.get('platform.web3.rpc.max-response-size'),
      agreement: config.get('platform.web3.rpc.agreement'),
      breaker: {
        failures: config.get('platform.web3.rpc.breaker.failures'),
        pauseMs: config.get('platform.web3.rpc.breaker.pause'),
      },
    })
    const collector = new ChainFactCollector({ source: registry, http: outgoingHttp, clock, log, settings })
    const contracts = new ContractWallets({ chains: collector, chainName })
    const verifier = createWalletVerifier(await bestBackend(), contracts)
    log.info({ backend: verifier.backend }, 'backend that verifies wallet signatures')

    provide(walletVerifier, verifier)
    provide(chains, collector)
    provide(tokens, new TokenFacts({ chains: collector, clock }))
    contribute(labelSources, 'web3.chain', chainLabels(registry))
    server.addRoutes(chainRoutes, { registry, collector })
    if (openScopes === undefined) return
    for (const scope of scopes) openScopes.declare(plugin, scope)
    server.addRoutes(openRoutes, { verifier, chains: collector })
  },
})
