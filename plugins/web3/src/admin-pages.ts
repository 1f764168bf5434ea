import { adminDetail, adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const finalities = {
  depth: text('By block depth', '按区块深度'),
  safe: text('Safe', '安全'),
  finalized: text('Finalized', '最终确认'),
}
const finalityTones = { depth: 'info', safe: 'good', finalized: 'good' } as const
const settings = [
  'enabled',
  'requiredConfirmations',
  'finality',
  'maxHeadLagBlocks',
  'explorerTransactionUrl',
  'providers',
] as const

const chains = adminList('getAdminWeb3Chains', (row) => ({
  id: 'web3.chains',
  title: text('Chains', '区块链'),
  empty: text('No chains yet.', '尚无区块链。'),
  lead: text(
    'Chains from which payments are read. Each chain can have several RPC providers.',
    '读取链上付款的区块链，每条链可配置多个 RPC 服务。',
  ),
  place: { group: 'orders', order: 300 },
  key: 'id',
  detail: 'web3.chain',
  live: ['web3_chain'],
  columns: [
    row.text('name', { link: true }),
    row.text('chainId', { mono: true }),
    row.flag('enabled'),
    row.count('requiredConfirmations'),
    row.status('finality', finalityTones, { labels: finalities }),
    row.chips('providers', 'id'),
    row.count('maxHeadLagBlocks', { hidden: true }),
    row.text('explorerTransactionUrl', { hidden: true }),
    row.text('updatedBy'),
    row.time('updatedAt'),
  ],
  create: adminForm('postAdminWeb3Chains', {
    title: text('New chain', '新增链'),
    fields: ['name', 'chainId', ...settings],
  }),
}))

const chain = adminDetail('getAdminWeb3ChainsById', (it) => ({
  id: 'web3.chain',
  title: text('Chain', '区块链'),
  name: 'name',
  param: 'id',
  live: ['web3_chain'],
  sections: [
    {
      columns: [
        it.text('chainId', { mono: true }),
        it.flag('enabled'),
        it.count('requiredConfirmations'),
        it.status('finality', finalityTones, { labels: finalities }),
        it.count('maxHeadLagBlocks'),
        it.text('explorerTransactionUrl'),
        it.chips('providers', 'id'),
        it.text('updatedBy'),
        it.time('updatedAt'),
        it.time('createdAt'),
      ],
    },
  ],
  form: it.form('putAdminWeb3ChainsById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: settings,
    version: 'version',
    reason: 'optional',
  }),
  actions: [
    it.action('postAdminWeb3ChainsByIdVerify', {
      label: text('Check the providers', '检查 RPC 服务'),
      params: { id: 'id' },
      confirm: text(
        'Queries each RPC provider of {{name}} for its chain and its newest block.',
        '向 {{name}} 的每个 RPC 服务查询其所在的链及最新区块。',
      ),
      answer: (provider) => [
        provider.text('providerId', { mono: true }),
        provider.text('fault'),
        provider.text('head', { mono: true }),
        provider.count('latencyMs', { unit: 'ms' }),
      ],
      outcome: { field: 'fault', good: [null] },
    }),
  ],
}))

export const pages = [chains, chain]
