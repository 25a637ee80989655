// A map of points in SVG, by Mercator's projection: coast lines, meridians and parallels, a scale,
// and the names of points where they have room.
import { coast } from './coast.js';
import { el, setText, svg } from './dom.js';
import { rough } from './format.js';

const HEIGHT = 380;
const EDGE = 28;
const EARTH_M = 6372797.56;
const RADIANS = Math.PI / 180;
const DEGREE_M = EARTH_M * RADIANS;
const COARSE = 4; // degrees: a map of less would show how coarse the coast lines are
const SCALE_PX = 120;
const NAMES = 60;
const LETTER_PX = 7;
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];

const mercator = (latitude) => Math.log(Math.tan(Math.PI / 4 + (latitude * RADIANS) / 2)) / RADIANS;
const latitudeOf = (y) => (2 * Math.atan(Math.exp(y * RADIANS)) - Math.PI / 2) / RADIANS;

/** The points that are `metres` away from a centre. */
function around({ longitude, latitude, metres }) {
	const angle = Math.min(metres / EARTH_M, Math.PI);
	return Array.from({ length: 73 }, (_, at) => {
		const bearing = at * 5 * RADIANS;
		const sine =
			Math.sin(latitude * RADIANS) * Math.cos(angle) +
			Math.cos(latitude * RADIANS) * Math.sin(angle) * Math.cos(bearing);
		const east = Math.atan2(
			Math.sin(bearing) * Math.sin(angle) * Math.cos(latitude * RADIANS),
			Math.cos(angle) - Math.sin(latitude * RADIANS) * sine,
		);
		return {
			longitude: longitude + east / RADIANS,
			latitude: Math.max(-85.05, Math.min(85.05, Math.asin(sine) / RADIANS)),
		};
	});
}

function overlaps(a, b) {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

export class Atlas {
	/** pick(longitude, latitude) is called after a click. */
	constructor(pick) {
		this.drawing = svg('svg', { class: 'map', role: 'img' });
		this.about = svg('title');
		this.layers = svg('g');
		this.land = svg('path', { class: 'land', 'vector-effect': 'non-scaling-stroke' });
		this.drawing.append(this.about, this.land, this.layers);
		// Without coast lines it is a map still.
		coast(mercator).then(
			(outline) => this.land.setAttribute('d', outline),
			() => {},
		);
		this.node = el(
			'figure',
			{ class: 'card' },
			el(
				'figcaption',
				{},
				el('span', { class: 'name' }, 'Map'),
				el('span', { class: 'legend' }, 'click for what is near'),
			),
			this.drawing,
		);
		this.points = [];
		this.drawing.addEventListener('click', (event) => {
			const box = this.drawing.getBoundingClientRect();
			if (this.scale) pick(...this.back(event.clientX - box.left, event.clientY - box.top));
		});
		new ResizeObserver(() => this.draw()).observe(this.drawing);
	}

	/** Members as points, those whose names are in `chosen` set off, and a circle. */
	show(points, chosen, circle) {
		Object.assign(this, { points, chosen, circle });
		setText(
			this.about,
			`${points.length} members${circle ? `, ${chosen.size} of them within the circle` : ''}`,
		);
		this.draw();
	}

	/** Everything fits, and something is left around it. */
	fit(width, extent) {
		const xs = extent.map((point) => point.longitude);
		const ys = extent.map((point) => mercator(point.latitude));
		const [left, right] = [Math.min(...xs), Math.max(...xs)];
		const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
		const size = Math.max(right - left, 0.002);
		const tall = Math.max(top - bottom, 0.002);
		this.scale = Math.min((width - 2 * EDGE) / size, (HEIGHT - 2 * EDGE) / tall);
		this.x = (left + right) / 2 - width / 2 / this.scale;
		this.y = (bottom + top) / 2 + HEIGHT / 2 / this.scale;
	}

	at({ longitude, latitude }) {
		return [(longitude - this.x) * this.scale, (this.y - mercator(latitude)) * this.scale];
	}

	back(x, y) {
		const longitude = Math.max(-180, Math.min(180, this.x + x / this.scale));
		return [longitude, Math.max(-85, Math.min(85, latitudeOf(this.y - y / this.scale)))];
	}

	draw() {
		const width = this.drawing.clientWidth;
		if (!width) return;
		this.drawing.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
		const ring = this.circle ? around(this.circle) : [];
		const extent = [...this.points, ...ring];
		if (extent.length) this.fit(width, extent);
		else
			this.fit(width, [
				{ longitude: -170, latitude: -60 },
				{ longitude: 170, latitude: 75 },
			]);
		const corner = ring
			.map((point) =>
				this.at(point)
					.map((value) => value.toFixed(1))
					.join(','),
			)
			.join(' ');
		const { scale, x, y } = this;
		this.land.setAttribute('transform', `matrix(${scale} 0 0 ${-scale} ${-x * scale} ${y * scale})`);
		this.land.style.display = width / scale < COARSE ? 'none' : '';
		this.layers.replaceChildren(
			...this.graticule(width),
			...(this.circle
				? [svg('polygon', { class: 'ring', points: corner }), this.dot(this.circle, 'centre')]
				: []),
			...this.points.map((point) =>
				this.dot(point, this.chosen?.has(point.member) ? 'near' : 'member'),
			),
			...this.names(width),
			...this.ruler(width),
		);
	}

	dot(point, kind) {
		const [cx, cy] = this.at(point);
		return svg(
			'circle',
			{ class: kind, cx: cx.toFixed(1), cy: cy.toFixed(1), r: kind === 'centre' ? 3 : 4 },
			svg('title', {}, point.member ?? 'the centre'),
		);
	}

	/** Names beside their points, those first that were asked for, and none over another. */
	names(width) {
		const first = this.points.filter((point) => this.chosen?.has(point.member));
		const taken = this.points
			.map((point) => this.at(point))
			.map(([x, y]) => ({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 }));
		const made = [];
		for (const point of [...first, ...this.points]) {
			if (made.length === NAMES) break;
			const name = point.member.length > 24 ? `${point.member.slice(0, 23)}…` : point.member;
			const [x, y] = this.at(point);
			const length = LETTER_PX * name.length;
			const box = [x + 7, x - 7 - length] // right of the point, else left of it
				.map((left) => ({ left, right: left + length, top: y - 7, bottom: y + 7 }))
				.find(
					(one) =>
						one.left > 0 &&
						one.right < width &&
						!taken.some((other) => overlaps(one, other)),
				);
			if (!box) continue;
			taken.push(box);
			const isLeft = box.left < x;
			made.push(
				svg(
					'text',
					{
						class: 'name',
						x: isLeft ? box.right : box.left,
						y: y + 4,
						'text-anchor': isLeft ? 'end' : 'start',
					},
					name,
				),
			);
		}
		return made;
	}

	/** A bar of a round length, at the latitude of the middle. */
	ruler(width) {
		const [, latitude] = this.back(width / 2, HEIGHT / 2);
		const metres = (SCALE_PX * DEGREE_M * Math.cos(latitude * RADIANS)) / this.scale;
		const power = 10 ** Math.floor(Math.log10(metres));
		const length = power * [5, 2, 1].find((one) => one * power <= metres);
		const px = (SCALE_PX * length) / metres;
		const words = length < 1000 ? `${rough(length)} m` : `${rough(length / 1000)} km`;
		const right = width - 12;
		return [
			svg('path', { class: 'ruler', d: `M${right - px} ${HEIGHT - 26}v6h${px}v-6` }),
			svg('text', { class: 'name', x: right, y: HEIGHT - 30, 'text-anchor': 'end' }, words),
		];
	}

	/** Lines of longitude and latitude, with the labels that the map has room for. */
	graticule(width) {
		const step = STEPS.find((one) => one * this.scale <= width / 4) ?? STEPS.at(-1);
		const digits = step < 1 ? Math.ceil(-Math.log10(step)) : 0;
		const lines = [];
		const line = (d, x, y, text) =>
			lines.push(svg('path', { class: 'grid-line', d }), svg('text', { x, y }, text));
		const [west, south] = this.back(0, HEIGHT);
		const [east, north] = this.back(width, 0);
		for (let at = Math.ceil(west / step); at * step <= east; at++) {
			const [x] = this.at({ longitude: at * step, latitude: 0 });
			const text = `${(at * step).toFixed(digits)}°`;
			const hasRoom = x + 3 + LETTER_PX * text.length <= width;
			line(`M${x} 0V${HEIGHT}`, x + 3, HEIGHT - 4, hasRoom ? text : '');
		}
		for (let at = Math.ceil(south / step); at * step <= north; at++) {
			const [, y] = this.at({ longitude: 0, latitude: at * step });
			line(`M0 ${y}H${width}`, 3, y - 3, `${(at * step).toFixed(digits)}°`);
		}
		return lines;
	}
}
