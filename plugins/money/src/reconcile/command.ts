import type { CommandDeclaration } from '@plinth/kernel'
import { reconciliations } from './contract.ts'

type Uses = { provides: readonly [typeof reconciliations] }

/** `plinth money reconcile`: 1 when something does not agree. */
export const reconcileCommand: CommandDeclaration<Uses> = {
  name: 'money reconcile',
  summary: 'compare entries, balances, holds and lots of the ledger; changes nothing of it',
  options: [{ flags: '--asset <asset>', description: 'only the accounts of this asset' }],
  async run({ own }, { options, output, signal }) {
    const reconciler = own(reconciliations)
    const { asset } = options as { readonly asset?: string }
    const id = await reconciler.request(asset ?? null, 'cli')
    let last = -1
    const onProgress = (percent: number) => {
      const whole = Math.floor(percent / 10) * 10
      if (whole === last) return
      last = whole
      output.progress(`${whole} %`)
    }
    const { accounts, journals, findings } = await reconciler.run(id, { signal, onProgress })
    const text = findings === 0 ? 'Everything agrees.' : `${findings} findings: see reconciliation ${id}.`
    output.result({ id, accounts, journals, findings }, `${accounts} accounts, ${journals} journals. ${text}`)
    return findings === 0 ? 0 : 1
  },
}
