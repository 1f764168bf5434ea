import { createWeb3Settlement } from './0001-create-web3-settlement.ts'
import { keepAttempts } from './0002-keep-attempts.ts'

export const changeSets = [createWeb3Settlement, keepAttempts]
