import { adminList, type Operations, type Row } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

type CellItem = Operations['getNotificationsPreferencesCells']['data'][number]

const columnsOf = (row: Row<CellItem>) => [
  row.text('categoryName', { title: text('Message type', '消息类型') }),
  row.text('channelName', { title: text('Channel', '渠道') }),
  row.flag('enabled', { title: text('On', '开启') }),
  row.flag('locked', { title: text('Locked', '锁定') }),
]
const params = { channel: 'channel', category: 'category' } as const
const on = text('Switch on', '开启')
const off = text('Switch off', '关闭')

const ownCells = adminList('getNotificationsPreferencesCells', (row) => ({
  id: 'notification.preference-cells',
  title: text('My notifications by channel', '我的分渠道通知'),
  lead: text('Choose which messages you get, and where.', '选择接收哪些消息，以及通过哪些渠道接收。'),
  place: { group: 'account', order: 51 },
  key: 'cell',
  columns: columnsOf(row),
  empty: text('No message types yet.', '暂无消息类型。'),
  actions: [
    row.action('putNotificationsPreferencesCellsByChannelByCategory', {
      label: on,
      params,
      body: { enabled: { value: true } },
      when: { enabled: false, locked: false },
    }),
    row.action('putNotificationsPreferencesCellsByChannelByCategory', {
      label: off,
      params,
      body: { enabled: { value: false } },
      when: { enabled: true, locked: false },
    }),
  ],
}))

const defaults = adminList('getAdminNotificationsPreferenceDefaults', (row) => {
  const change = (
    label: ReturnType<typeof text>,
    enabled: boolean,
    locked: boolean,
    confirm: ReturnType<typeof text>,
  ) =>
    row.action('putAdminNotificationsPreferenceDefaultsByChannelByCategory', {
      label,
      confirm,
      params,
      body: { enabled: { value: enabled }, locked: { value: locked } },
    })
  return {
    id: 'notification.preference-defaults',
    title: text('Notification defaults', '通知默认值'),
    lead: text(
      'What users get until they decide themselves. Users cannot change a locked entry.',
      '用户自行设置之前的默认接收情况。用户不能更改已锁定的项。',
    ),
    place: { group: 'messages', order: 28 },
    key: 'cell',
    columns: columnsOf(row),
    empty: text('No message types yet.', '暂无消息类型。'),
    actions: [
      change(
        text('On by default', '默认开启'),
        true,
        false,
        text(
          'Users who have not decided get {{categoryName}} on this channel.',
          '未自行设置的用户将通过此渠道收到“{{categoryName}}”。',
        ),
      ),
      change(
        text('Off by default', '默认关闭'),
        false,
        false,
        text(
          'Users who have not decided do not get {{categoryName}} on this channel.',
          '未自行设置的用户将不会通过此渠道收到“{{categoryName}}”。',
        ),
      ),
      change(
        text('Always on', '始终开启'),
        true,
        true,
        text(
          'All users get {{categoryName}} on this channel and cannot switch it off.',
          '所有用户都会通过此渠道收到“{{categoryName}}”，且不能关闭。',
        ),
      ),
      change(
        text('Always off', '始终关闭'),
        false,
        true,
        text('No user gets {{categoryName}} on this channel.', '任何用户都不会通过此渠道收到“{{categoryName}}”。'),
      ),
    ],
  }
})

export const matrixPages = [ownCells, defaults]
