import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, createEditColumns, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import type { Finality } from '../contract.ts'

/** A provider in the database. Its URL is encrypted, because it contains the key of an account at the provider. */
export interface StoredRpcProvider {
  readonly id: string
  readonly urlEnc: string
}

export const ChainRow = defineEntity({
  name: 'Web3Chain',
  tableName: 'web3_chain',
  uniques: [{ properties: ['name'] }, { properties: ['chainId'] }],
  properties: {
    id: column.primaryKey(),
    name: column.text(64),
    /** Number of the chain (EIP-155). */
    chainId: column.bigint(),
    enabled: column.boolean(),
    requiredConfirmations: column.integer().nullable(),
    finality: column.text(16).$type<Finality>(),
    maxHeadLagBlocks: column.integer(),
    explorerTransactionUrl: column.text(500).nullable(),
    /** Providers in the order in which they are queried. */
    providers: column.json<readonly StoredRpcProvider[]>(),
    ...createEditColumns(),
  },
})
export type ChainRow = InferEntity<typeof ChainRow>

export const entities = [ChainRow]

export const chainTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ChainRow, {
    title: bilingual('Chains that the user changed last', '用户最后修改的链'),
    owner: { username: 'updated_by' },
    omit: ['providers'],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: bilingual('The chain belongs to the product.', '链配置属于产品。'),
  }),
]
