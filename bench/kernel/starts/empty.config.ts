import { defineProduct } from '@plinth/kernel'

export default defineProduct({ name: 'empty', plugins: [] })
