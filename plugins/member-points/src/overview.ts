import { adminChart, adminTile } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

export const pointsTiles = [
  adminTile('getAdminMemberPointsFigures', {
    id: 'member-points.issued',
    title: text('Points issued', '发放的积分'),
    order: 40,
    range: true,
    field: 'issued',
    currency: 'asset',
    opens: { id: 'member-points.days' },
  }),
  adminTile('getAdminMemberPointsFigures', {
    id: 'member-points.spent',
    title: text('Points spent', '使用的积分'),
    order: 50,
    range: true,
    field: 'spent',
    currency: 'asset',
    opens: { id: 'member-points.days' },
  }),
]

export const figureCharts = [
  adminChart('getAdminMemberPointsFigures', {
    id: 'member-points.figures',
    title: text('Points', '积分'),
    order: 3,
    as: 'bar',
    range: true,
    at: 'at',
    currency: 'asset',
    lines: [
      { field: 'issued', tone: 'good' },
      { field: 'spent', tone: 'info' },
      { field: 'expired', tone: 'warn' },
    ],
  }),
]
