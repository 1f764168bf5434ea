import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'web3-chain': {
    title: text('Chain', '链'),
    page: 'web3.chain',
    nameFrom: 'name',
    facts: {
      name: { title: text('Name', '名称') },
      chainId: { title: text('Chain ID', '链 ID') },
    },
  },
}
