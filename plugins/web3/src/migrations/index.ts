import { createChains } from './0001-create-chains.ts'

export const changeSets = [createChains]
