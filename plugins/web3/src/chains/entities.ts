import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, createEditColumns } from '@plinth/database'
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
