import { adminTile } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

export const userTiles = [
  adminTile('getAdminIamUserFigures', {
    id: 'iam.new-users',
    title: text('New members', '新会员'),
    order: 30,
    range: true,
    field: 'created',
    more: 'good',
    opens: { id: 'iam.users' },
  }),
]
