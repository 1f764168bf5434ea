import * as icons from '@tabler/icons-react'
import type { ComponentType } from 'react'
import type { Place } from './places.tsx'

type Icon = ComponentType<{ readonly size: number }>

/** Icons of the groups of the product, by the id of the group. */
const productIcons: Readonly<Record<string, Icon>> = {
  orders: icons.IconReceipt,
  points: icons.IconCoins,
  ledger: icons.IconBuildingBank,
  messages: icons.IconMail,
  rules: icons.IconTemplate,
  access: icons.IconUsers,
  audit: icons.IconClipboardList,
  jobs: icons.IconClockPlay,
  integrations: icons.IconPlugConnected,
  configuration: icons.IconSettings,
  product: icons.IconServer,
}

/** Icons of other groups, by the name that their plugin declares: `groupIcons` of `@plinth/admin`. */
export const namedIcons: Readonly<Record<string, Icon>> = {
  award: icons.IconAward,
  book: icons.IconBook,
  box: icons.IconBox,
  building: icons.IconBuilding,
  calendar: icons.IconCalendar,
  camera: icons.IconCamera,
  car: icons.IconCar,
  chart: icons.IconChartBar,
  database: icons.IconDatabase,
  file: icons.IconFile,
  flag: icons.IconFlag,
  folder: icons.IconFolder,
  gift: icons.IconGift,
  globe: icons.IconWorld,
  heart: icons.IconHeart,
  lifebuoy: icons.IconLifebuoy,
  map: icons.IconMap,
  message: icons.IconMessage,
  school: icons.IconSchool,
  shield: icons.IconShield,
  shop: icons.IconBuildingStore,
  tag: icons.IconTag,
  ticket: icons.IconTicket,
  tool: icons.IconTool,
  truck: icons.IconTruck,
}

/** Returns the icon of a place. A newer server may have icons that these pages do not know. */
export const iconOf = ({ id, icon = '' }: Pick<Place, 'id' | 'icon'>): Icon =>
  productIcons[id] ?? namedIcons[icon] ?? icons.IconHome
