import { adminChoices, adminDetail, adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { acme } from '../page-group.ts'

const depotTitle = text('Depot', '仓库')
const depot = { labels: 'acme.depot', page: 'acme.depot' }

const fields = ['name', 'badgeName', 'city', 'depotId', 'dailyPay', 'photo', 'contract'] as const
const amounts = { dailyPay: { unit: 'EUR' } } as const
const choices = {
  city: adminChoices('getAdminAcmeDepotsCities', { value: 'city' }),
  depotId: adminChoices('getAdminAcmeDepots', {
    value: 'id',
    name: 'name',
    query: { city: 'city', state: { value: 'open' } },
    title: depotTitle,
  }),
}

const couriers = adminList('getAdminAcmeCouriers', (row) => ({
  id: 'acme.couriers',
  title: text('Couriers', '快递员'),
  empty: text('No couriers yet.', '尚无快递员。'),
  place: { group: acme, order: 30 },
  key: 'id',
  detail: 'acme.courier',
  columns: [
    row.file('photo'),
    row.text('name', { link: true }),
    row.text('city'),
    row.reference('depotId', depot, { title: depotTitle }),
    row.amount('dailyPay', { asset: 'EUR', total: true }),
  ],
  filters: [{ name: 'depotId', options: { labels: 'acme.depot', title: depotTitle } }],
  create: adminForm('postAdminAcmeCouriers', {
    title: text('New courier', '新增快递员'),
    fields: [...fields],
    defaults: { badgeName: 'name' },
    choices,
    amounts,
  }),
}))

const courier = adminDetail('getAdminAcmeCouriersById', (it) => ({
  id: 'acme.courier',
  title: text('Courier', '快递员'),
  name: 'name',
  param: 'id',
  sections: [
    {
      columns: [
        it.text('name'),
        it.text('badgeName'),
        it.text('city'),
        it.reference('depotId', depot, { title: depotTitle }),
        it.amount('dailyPay', { asset: 'EUR' }),
        it.file('photo'),
        it.file('contract'),
      ],
    },
  ],
  form: it.form('putAdminAcmeCouriersById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: [...fields],
    choices,
    amounts,
  }),
}))

export const pages = [couriers, courier]
