import { guardsPermission, key } from '@plinth/kernel'

const count = (declared: { title: { en: string; 'zh-CN': string }; default: number }, en: string, zhCN: string) =>
  key.integer({
    ...declared,
    description: { en, 'zh-CN': zhCN },
    minimum: 1,
    maximum: 1_000_000,
    reload: 'live',
  })

export const keys = {
  'platform.notification.channels.websocket.enabled': key.boolean({
    title: { en: 'Channel "websocket"', 'zh-CN': '渠道 websocket' },
    description: {
      en: 'Pushes messages to users who are online. Off: no messages are pushed, and the endpoint rejects connections.',
      'zh-CN': '向在线用户实时推送；关闭后不推送，端点拒绝连接。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.channels.websocket.guests.enabled': key.boolean({
    title: { en: 'Guests', 'zh-CN': '访客' },
    description: {
      en: 'Whether clients without credentials can connect and receive the messages for guests.',
      'zh-CN': '未提供凭证的客户端是否可以连接并接收发给访客的消息。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.notification.channels.websocket.public-groups': key.stringList({
    title: { en: 'Public groups', 'zh-CN': '公开分组' },
    description: {
      en: 'Groups that every connection can join. Other groups require a plugin that allows them.',
      'zh-CN': '任何连接都可加入的分组；其他分组需由插件允许。',
    },
    default: [],
    items: { pattern: '^[A-Za-z0-9._:/-]{1,100}$' },
    rule: {
      en: 'be 1 to 100 letters, digits, ".", "_", ":", "/" or "-"',
      'zh-CN': '是 1 至 100 个字母、数字或“.”“_”“:”“/”“-”',
    },
    maxItems: 1000,
    uniqueItems: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.notification.channels.websocket.max-sockets': count(
    { title: { en: 'Maximum connections per instance', 'zh-CN': '单实例最大连接数' }, default: 8000 },
    'WebSocket connections of one instance. The limit platform.http.max-connections also applies.',
    '单个实例的 WebSocket 连接数；同时受 platform.http.max-connections 限制。',
  ),
  'platform.notification.channels.websocket.max-sockets-per-user': count(
    { title: { en: 'Maximum connections per user', 'zh-CN': '单用户最大连接数' }, default: 20 },
    'On one instance. More connections are rejected.',
    '单个实例上的数量；超出的连接被拒绝。',
  ),
  'platform.notification.channels.websocket.max-sockets-per-address': count(
    { title: { en: 'Maximum connections per address', 'zh-CN': '单地址最大连接数' }, default: 200 },
    'On one instance, including handshakes. More connections are rejected.',
    '单个实例上的数量（含握手中的连接）；超出的连接被拒绝。',
  ),
  'platform.notification.channels.websocket.max-groups': count(
    { title: { en: 'Maximum groups per connection', 'zh-CN': '单连接最大分组数' }, default: 50 },
    'Number of groups that one connection can join at the same time.',
    '单个连接可同时加入的分组数。',
  ),
  'platform.notification.channels.websocket.max-message-rate': count(
    { title: { en: 'Client messages per second', 'zh-CN': '客户端每秒消息数' }, default: 20 },
    'Messages and pings that one connection can send per second. If it sends more, it is closed.',
    '单个连接每秒可发送的消息和 ping 数；超出则关闭连接。',
  ),
  'platform.notification.channels.websocket.max-message-size': key.bytes({
    title: { en: 'Maximum size of a client message', 'zh-CN': '客户端消息大小上限' },
    description: {
      en: 'Size of one message, in any number of frames. A larger message closes the connection.',
      'zh-CN': '单条消息的大小（不论分为多少帧）；超出则关闭连接。',
    },
    default: '4KiB',
    minimum: '256',
    maximum: '1MiB',
    reload: 'restart',
  }),
  'platform.notification.channels.websocket.max-buffered': key.bytes({
    title: { en: 'Maximum unread bytes per connection', 'zh-CN': '单连接未读字节上限' },
    description: {
      en: 'A client is disconnected if it reads so slowly that more bytes than this are waiting.',
      'zh-CN': '客户端读取过慢、待发送数据超过此值时断开连接。',
    },
    default: '1MiB',
    minimum: '1KiB',
    maximum: '64MiB',
    reload: 'live',
  }),
  'platform.notification.channels.websocket.heartbeat': key.duration({
    title: { en: 'Heartbeat', 'zh-CN': '心跳间隔' },
    description: {
      en: 'Interval of pings to each connection. A connection that does not respond before the next ping is closed.',
      'zh-CN': '向每个连接发送 ping 的间隔；到下一次 ping 仍未响应的连接会被关闭。',
    },
    default: '30s',
    minimum: '1s',
    maximum: '10m',
    reload: 'live',
  }),
  'platform.notification.channels.websocket.session-check': key.duration({
    title: { en: 'Session check interval', 'zh-CN': '会话检查间隔' },
    description: {
      en: 'A connection is closed within this time after its session ends: logout, revocation, expiry, or a disabled user.',
      'zh-CN': '会话结束（登出、被撤销、过期、用户被禁用）后，连接在此时间内关闭。',
    },
    default: '5s',
    minimum: '1s',
    maximum: '10m',
    reload: 'live',
    permission: guardsPermission,
  }),
} as const
