import { createWeb3Settlement } from './0001-create-web3-settlement.ts'

export const changeSets = [createWeb3Settlement]
