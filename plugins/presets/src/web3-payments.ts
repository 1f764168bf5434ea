import type { Plugin } from '@plinth/kernel'
import walletLogin from '@plinth/wallet-login'
import web3 from '@plinth/web3'
import web3Settlement from '@plinth/web3-settlement'

/** Wallets, chains and the settlement of payments on chains. Requires `commerce`. */
export const web3Payments: readonly Plugin[] = [web3, walletLogin, web3Settlement]
