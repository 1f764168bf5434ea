import {
  currentVersion,
  id,
  idParams,
  instant,
  line,
  nullable,
  operatorVisibleTo,
  routesWith,
  Type,
  version,
} from '@plinth/http'
import { type GuardedRequest, operatorOf } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import type { Static } from 'typebox'
import { permissionCodes } from '../declarations.ts'
import type { ChainFactCollector } from './chain-facts.ts'
import { type ChainRegistry, chainOf } from './chain-registry.ts'
import type { ChainRow } from './entities.ts'

interface ChainRouteDependencies {
  readonly registry: ChainRegistry
  readonly collector: ChainFactCollector
}

const path = '/api/v1/admin/web3/chains'
const finality = Type.Enum(['depth', 'safe', 'finalized'], {
  description:
    'Additional condition for a block with enough confirmations. `depth`: none. `safe` and `finalized`: it must not be newer than the block that the node reports as safe or finalized.',
})
const providerId = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,31}$',
  description: 'Id that is displayed instead of the URL.',
})
const confirmations = nullable(
  Type.Integer({
    minimum: 1,
    maximum: 100_000,
    description: 'Required confirmations. Null: no orders are settled on this chain.',
  }),
)
const lag = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Maximum number of blocks that a provider may be behind the highest block seen recently.',
})
const explorer = nullable(
  line(500, {
    description:
      'URL of the page of a transaction with the placeholder `{hash}`. If it has the form `https://…/tx/{hash}`, the back office also links to `/address/` and `/block/`.',
  }),
)

const content = {
  enabled: Type.Optional(Type.Boolean()),
  requiredConfirmations: Type.Optional(confirmations),
  finality: Type.Optional(finality),
  maxHeadLagBlocks: Type.Optional(lag),
  explorerTransactionUrl: Type.Optional(explorer),
  providers: Type.Optional(
    Type.Array(
      Type.Object({
        id: providerId,
        url: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 1000,
            writeOnly: true,
            description:
              'URL of the provider, stored encrypted and never returned. If omitted, the stored URL does not change.',
          }),
        ),
      }),
      { maxItems: 10, description: 'RPC providers in the order in which they are queried.' },
    ),
  ),
}

const chainView = Type.Object({
  id,
  name: Type.String(),
  chainId: Type.Integer(),
  enabled: Type.Boolean(),
  requiredConfirmations: nullable(Type.Integer()),
  finality,
  maxHeadLagBlocks: Type.Integer(),
  explorerTransactionUrl: nullable(Type.String()),
  providers: Type.Array(Type.Object({ id: Type.String() })),
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
  updatedBy: nullable(
    Type.String({
      description: 'User who made the last change. Null if this user is outside the data scope of the caller.',
    }),
  ),
})

const checkView = Type.Object({
  providerId: Type.String(),
  fault: nullable(Type.String({ description: 'Reason why the provider cannot be used. Null if it works.' })),
  head: nullable(Type.Integer({ description: 'Number of the newest block of the provider.' })),
  latencyMs: Type.Integer(),
})

const standard = {
  enabled: true,
  requiredConfirmations: null,
  finality: 'depth',
  maxHeadLagBlocks: 50,
  explorerTransactionUrl: null,
  providers: [],
} as const

const { route } = routesWith<ChainRouteDependencies>()

/** Reason codes of the routes that create or change a chain. */
const writeReasons = [
  'web3.chain-protected',
  'web3.chain-taken',
  'web3.chain-unknown',
  'web3.chains-too-many',
  'web3.contract-wallets-protected',
  'web3.explorer-url-invalid',
  'web3.provider-id-twice',
  'web3.provider-url-missing',
  'web3.provider-url-refused',
  'web3.provider-url-twice',
]

export const chainRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List chains by name',
    access: { permission: permissionCodes.chainView, scope: 'none' },
    response: Type.Array(chainView, { maxItems: 100 }),
    reasons: ['web3.chain-unknown'],
    handler: async (request, { registry }) => (await registry.rows()).map((row) => viewOf(request, row)),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a chain',
    access: { permission: permissionCodes.chainView, scope: 'none' },
    request: { params: idParams },
    response: chainView,
    reasons: ['web3.chain-unknown'],
    handler: async (request, { registry }) => viewOf(request, await registry.row(request.params.id)),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add a chain; its name and chain id cannot change later',
    access: { permission: permissionCodes.chainSave, scope: 'all' },
    // The providers decide about settlements and logins, and their URLs are secrets.
    fresh: '5m',
    annotations: [idempotent],
    request: {
      body: Type.Object({
        name: Type.String({
          pattern: '^(?!evm$)[a-z0-9][a-z0-9-]{0,63}$',
          description: 'Name of the chain, which cannot be changed later. In the public API, `evm` means any chain.',
        }),
        chainId: Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Chain id as in EIP-155, which cannot be changed later.',
        }),
        ...content,
      }),
    },
    response: chainView,
    reasons: writeReasons,
    handler: async (request, { registry }) => {
      const { name, chainId, ...given } = request.body
      return viewOf(request, await registry.create(name, chainId, { ...standard, ...given }, operatorOf(request)))
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Change a chain; omitted fields do not change',
    access: { permission: permissionCodes.chainSave, scope: 'all' },
    fresh: '5m',
    request: { params: idParams, body: Type.Object({ ...content, version: Type.Optional(version) }) },
    response: chainView,
    reasons: [...writeReasons, 'web3.version-conflict'],
    handler: async (request, { registry }) => {
      const { version, ...change } = request.body
      return viewOf(request, await registry.update(request.params.id, change, version, operatorOf(request)))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/verify`,
    summary: 'Probe every provider of a chain for its chain id and block height',
    access: { permission: permissionCodes.chainSave, scope: 'all' },
    request: { params: idParams },
    response: Type.Array(checkView, { maxItems: 10 }),
    reasons: [
      'web3.chain-taken',
      'web3.chain-unknown',
      'web3.chains-too-many',
      'web3.explorer-url-invalid',
      'web3.provider-id-twice',
      'web3.provider-url-missing',
      'web3.provider-url-refused',
      'web3.version-conflict',
    ],
    handler: async ({ params }, { registry, collector }) => [
      ...(await collector.check(registry.opened(await registry.row(params.id)))),
    ],
  }),
]

function viewOf(request: Pick<GuardedRequest, 'principal'>, row: ChainRow): Static<typeof chainView> {
  const { id, version, createdAt, updatedAt } = row
  const { providers, ...chain } = chainOf(row)
  return {
    id,
    ...chain,
    providers: [...providers],
    version,
    updatedBy: operatorVisibleTo(request, row.updatedBy),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}
